package natsserver_test

import (
	"errors"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"

	"nqueens/pkg/bus/natsserver"
	"nqueens/pkg/join"
)

func startServer(t *testing.T, listen string) *natsserver.Server {
	t.Helper()
	s, err := natsserver.Start(natsserver.Config{Listen: listen, Log: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	return s
}

// A server that listens on all addresses is reached at those of this machine, loopback last. With
// an advertised host it is reached at that host alone.
func TestAddresses(t *testing.T) {
	everywhere := startServer(t, "0.0.0.0:0")
	_, port, err := net.SplitHostPort(everywhere.Address())
	if err != nil {
		t.Fatal(err)
	}
	got := everywhere.Addresses("")
	if got[len(got)-1] != "127.0.0.1:"+port {
		t.Errorf("%v, want loopback last", got)
	}
	// A packet to a documentation address (RFC 5737) would leave by the default route. Nothing is
	// sent.
	if c, err := net.Dial("udp", "192.0.2.1:9"); err == nil {
		if host, _, _ := net.SplitHostPort(c.LocalAddr().String()); !slices.Contains(got,
			net.JoinHostPort(host, port)) {
			t.Errorf("%v, want %s among them", got, host)
		}
		_ = c.Close()
	}
	for advertise, want := range map[string]string{"host.example": "host.example:" + port,
		"192.0.2.1:5": "192.0.2.1:5", "2001:db8::1": "[2001:db8::1]:" + port} {
		if got := everywhere.Addresses(advertise); !slices.Equal(got, []string{want}) {
			t.Errorf("with --advertise %s: %v, want %s", advertise, got, want)
		}
	}
	local := startServer(t, "127.0.0.1:0")
	if got := local.Addresses(""); !slices.Equal(got, []string{local.Address()}) {
		t.Errorf("on loopback: %v", got)
	}
}

// A second server at the same address does not start, and its error says why.
func TestAddressInUse(t *testing.T) {
	first := startServer(t, "127.0.0.1:0")
	if s, err := natsserver.Start(natsserver.Config{Listen: first.Address()}); err == nil ||
		!strings.Contains(err.Error(), "already in use") {
		t.Errorf("a second server %v, error %v", s, err)
	}
}

// A user that is added can connect at once. The connection of a user that is removed ends, and the
// others stay. The address stays too, even if the server chose its port.
func TestAuthorize(t *testing.T) {
	users := join.Passwords{"alice": "a", "mallory": "m"}
	s, err := natsserver.Start(
		natsserver.Config{Listen: "127.0.0.1:0", Authorization: users.Authorization(),
			Log: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	address := s.Address()
	closed := make(chan string, 10)
	connect := func(user string) error {
		ended := func(*nats.Conn) { closed <- user }
		c, err := nats.Connect(s.URL(), nats.UserInfo(user, users[user]), nats.NoReconnect(),
			nats.ClosedHandler(ended))
		if err == nil {
			t.Cleanup(c.Close)
		}
		return err
	}
	if err := errors.Join(connect("alice"), connect("mallory")); err != nil {
		t.Fatal(err)
	}
	if connect("bob") == nil {
		t.Error("an unknown user can connect")
	}
	delete(users, "mallory")
	users["bob"] = "b"
	if err := s.Authorize(users.Authorization()); err != nil || s.Address() != address {
		t.Fatalf("at %s, before at %s: %v", s.Address(), address, err)
	}
	if err := connect("bob"); err != nil {
		t.Errorf("an added user: %v", err)
	}
	if user := <-closed; user != "mallory" || len(closed) > 0 {
		t.Errorf("the connection of %s ended, and those of %d more", user, len(closed))
	}
	if err := s.Authorize("authorization {"); err == nil {
		t.Error("a wrong configuration is accepted")
	}
}
