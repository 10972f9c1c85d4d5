package main

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"nqueens/pkg/join"
)

// greeter is a listener that speaks first, as a NATS server does.
func greeter(t *testing.T, data, greeting string, began time.Time) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = c.Write([]byte(greeting))
			_ = c.Close()
		}
	}()
	address := l.Addr().String()
	token, _, err := join.Listening(data, address)
	if err == nil {
		_, err = token.Publish(data, address, []string{address})
	}
	_, port, _ := net.SplitHostPort(address)
	if err == nil {
		err = os.Chtimes(filepath.Join(data, "join", "servers", port), began, began)
	}
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// A worker without flags takes the newest server of its user that answers. When that is gone, the
// worker goes on at the next one. While no other answers, it waits.
func TestServers(t *testing.T) {
	state := t.TempDir()
	t.Setenv("XDG_STATE_HOME", state)
	var o runFlags
	if _, err := o.servers(zerolog.Nop()); err == nil {
		t.Fatal("without a token, a worker starts")
	}
	data, now := filepath.Join(state, "nqueens"), time.Now()
	first := greeter(t, data, "INFO {}\r\n", now.Add(-3*time.Second))
	second := greeter(t, data, "INFO {}\r\n", now.Add(-2*time.Second))
	greeter(t, data, "HTTP/1.1 400\r\n", now.Add(-time.Second))
	killed := greeter(t, data, "INFO {}\r\n", now)
	_ = killed.Close()

	o = runFlags{}
	s, err := o.servers(zerolog.Nop())
	if err != nil || s.options.URL != "nats://"+second.Addr().String() || s.options.Password == "" {
		t.Fatalf("%+v, %v: want the second server", s, err)
	}
	s.goneAfter, s.poll = 0, time.Millisecond
	_ = second.Close()
	err = s.follow(t.Context(), func() bool { return false })
	if !errors.Is(err, errServerGone) || s.options.URL != "nats://"+first.Addr().String() {
		t.Errorf("%+v, %v: want the first server", s.options, err)
	}
	_ = first.Close()
	if s.move() || s.options.URL != "nats://"+first.Addr().String() {
		t.Errorf("the worker goes on at %s, where nobody answers", s.options.URL)
	}

	o = runFlags{}
	s, err = o.servers(zerolog.Nop())
	if err != nil || s.options.URL != "nats://"+killed.Addr().String() {
		t.Errorf("%+v, %v: want the server of the token", s, err)
	}
}

// A worker stays with its server while it is connected, and with one that its flags name.
func TestServersStay(t *testing.T) {
	state := t.TempDir()
	t.Setenv("XDG_STATE_HOME", state)
	data := filepath.Join(state, "nqueens")
	first := greeter(t, data, "INFO {}\r\n", time.Now().Add(-time.Second))
	var own runFlags
	s, err := own.servers(zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	greeter(t, data, "INFO {}\r\n", time.Now())
	s.goneAfter, s.poll = 0, time.Millisecond
	looks := make(chan bool)
	ended := make(chan error)
	go func() { ended <- s.follow(t.Context(), func() bool { return <-looks }) }()
	for range 5 {
		looks <- true
	}
	if s.options.URL != "nats://"+first.Addr().String() {
		t.Errorf("a connected worker goes on at %s", s.options.URL)
	}
	looks <- false
	if err := <-ended; !errors.Is(err, errServerGone) {
		t.Error(err)
	}

	var named runFlags
	named.server.URL = "nats://127.0.0.1:1"
	if s, err = named.servers(zerolog.Nop()); err != nil || s.move() ||
		s.options.URL != named.server.URL {
		t.Errorf("%+v, %v: want the server of the flag", s, err)
	}
}
