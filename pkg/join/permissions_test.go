package join_test

import (
	"crypto/tls"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"

	"nqueens/pkg/bus"
	"nqueens/pkg/join"
	"nqueens/pkg/queens"
	"nqueens/pkg/testkit"
)

// startKeys starts a server with the files that Keys and Invite write, on a free port. It has the
// invited users alice and bob.
func startKeys(t *testing.T) (dir, address string) {
	t.Helper()
	dir = t.TempDir()
	if _, err := join.Keys(dir, []string{"127.0.0.1"}, false); err != nil {
		t.Fatal(err)
	}
	for _, user := range []string{"alice", "bob"} {
		if _, err := join.Invite(dir, user); err != nil {
			t.Fatal(err)
		}
	}
	if err := join.WriteUsers(dir); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir) // the configuration names its other files by relative paths
	options, err := server.ProcessConfigFile("nats.conf")
	if err != nil {
		t.Fatal(err)
	}
	if options.TLSTimeout != 30 {
		t.Errorf("a TLS handshake may take %v s, want 30 s: many workers come at once", options.TLSTimeout)
	}
	options.Host, options.Port, options.NoSigs, options.NoLog = "127.0.0.1", -1, true, true
	s, err := server.NewServer(options)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	if !s.ReadyForConnections(20 * time.Second) {
		t.Fatal("the server is not ready")
	}
	return dir, s.Addr().String()
}

// Each user can do everything that it needs, and nothing else: none can speak, listen or be
// answered as another.
func TestPermissions(t *testing.T) {
	dir, address := startKeys(t)
	const can, cannot = true, false
	for _, user := range []struct {
		name, file           string
		publish, subscribing map[string]bool
	}{
		{queens.WorkerUser, "join.token", map[string]bool{
			"nq.work.n8-a.worker.machine.process": can, "nq.status.n8-a.worker": can,
			"nq.work.n8-a.alice.machine.process": cannot, "nq.work.n8-a.coordinator.machine.process": cannot,
			"nq.status.n8-a.alice": cannot, "nq.work.n8-a.worker.machine": cannot,
			"nq.work.n8-a.worker.a.b.c": cannot,
			"nq.run":                    cannot, "_INBOX.coordinator.x": cannot, "_INBOX.worker.x": cannot,
			"_INBOX.alice.x":       cannot,
			"$SYS.REQ.SERVER.PING": cannot, "$JS.API.INFO": cannot, "other": cannot,
		}, map[string]bool{
			"nq.run": can, "_INBOX.worker.>": can,
			"nq.work.>": cannot, "nq.work.n8-a.worker.machine.process": cannot, "nq.status.*.worker": cannot,
			"_INBOX.coordinator.>": cannot, "_INBOX.>": cannot, "_INBOX.alice.>": cannot,
			"_INBOX.*.x": cannot,
			">":          cannot, "$SYS.>": cannot, "$JS.>": cannot,
		}},
		{"alice", "alice.token", map[string]bool{
			"nq.work.n8-a.alice.machine.process": can, "nq.status.n8-a.alice": can,
			"nq.work.n8-a.bob.machine.process": cannot, "nq.work.n8-a.worker.machine.process": cannot,
			"nq.status.n8-a.worker": cannot, "_INBOX.bob.x": cannot, "_INBOX.alice.x": cannot,
			"nq.run": cannot,
		}, map[string]bool{
			"nq.run": can, "_INBOX.alice.>": can,
			"_INBOX.worker.>": cannot, "_INBOX.bob.>": cannot, "_INBOX.>": cannot,
			"nq.work.*.alice.*.*": cannot,
		}},
		{queens.WatcherUser, "watcher.token", map[string]bool{
			"nq.status.n8-a.watcher": can,
			"nq.status.n8-a.alice":   cannot, "nq.work.n8-a.watcher.machine.process": cannot,
			"nq.run": cannot,
		}, map[string]bool{
			"nq.run": can, "_INBOX.watcher.>": can, "nq.work.>": cannot, "_INBOX.worker.>": cannot,
		}},
		{queens.CoordinatorUser, "coordinator.token", map[string]bool{
			"nq.run": can, "_INBOX.worker.x": can, "_INBOX.alice.x": can, "nq.status.n8-a.coordinator": can,
			"nq.work.n8-a.coordinator.machine.process": cannot, "$JS.API.INFO": cannot,
			"$SYS.REQ.SERVER.PING": cannot,
		}, map[string]bool{
			"nq.run": can, "nq.work.n8-a.*.*.*": can, "nq.status.n8-a.*": can, "_INBOX.coordinator.>": can,
			"_INBOX.worker.>": cannot, "$SYS.>": cannot,
		}},
	} {
		token := tokenOf(t, dir, user.file)
		if token.User != user.name {
			t.Errorf("%s is of the user %s", user.file, token.User)
		}
		for kind, subjects := range map[string]map[string]bool{"publish": user.publish,
			"subscribe": user.subscribing} {
			for subject, want := range subjects {
				if got := allowed(t, address, user.name, token.Password, token.TLS(), kind, subject); got !=
					want {
					t.Errorf("%s may %s %s: %v, want %v", user.name, kind, subject, got, want)
				}
			}
		}
	}
}

// TestGeneratedPermissions keeps the table of the permissions in the documents.
func TestGeneratedPermissions(t *testing.T) {
	table := "| user | publishes | subscribes to |\n|---|---|---|\n"
	for _, user := range []string{queens.CoordinatorUser, queens.WorkerUser, queens.WatcherUser} {
		may := join.Permissions(user)
		code := func(subjects []string) string { return "`" + strings.Join(subjects, "`, `") + "`" }
		table += "| " + code([]string{user}) + " | " + code(may.Publish) + " | " + code(may.Subscribe) +
			" |\n"
	}
	testkit.Generated(t, "permissions",
		table+"\nAny other user has the permissions of `worker`, with its own name in place of that.\n")
}

func tokenOf(t *testing.T, dir, file string) join.Token {
	t.Helper()
	token, err := join.Load(filepath.Join(dir, file))
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// allowed tries to publish or to subscribe on a new connection, and reports whether the server
// permits it.
func allowed(
	t *testing.T, address, user, password string, certificate *tls.Config, kind, subject string,
) bool {
	t.Helper()
	violations := make(chan error, 8)
	c, err := nats.Connect("tls://"+address, nats.UserInfo(user, password), nats.Secure(certificate),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { violations <- err }))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if kind == "publish" {
		err = c.Publish(subject, nil)
	} else {
		_, err = c.SubscribeSync(subject)
	}
	if err == nil {
		err = c.Flush() // an error of the server comes before its pong
	}
	if err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-violations:
		if !strings.Contains(err.Error(), "Permissions Violation") {
			t.Fatal(err)
		}
		return false
	default:
		return c.LastError() == nil
	}
}

// A token that is wrong or old, or of another server, gives ErrNoConnection with one plain
// sentence.
func TestWrongTokens(t *testing.T) {
	dir, address := startKeys(t)
	connect := func(change func(token *join.Token)) error {
		token := tokenOf(t, dir, "join.token")
		token.Servers = []string{address}
		change(&token)
		if err := token.Save(filepath.Join(dir, "changed", join.FileName)); err != nil {
			t.Fatal(err)
		}
		flags := bus.Flags{Join: filepath.Join(dir, "changed", join.FileName)}
		options, err := flags.Connection("test")
		if err != nil {
			return err
		}
		options.Log = zerolog.Nop()
		b, err := bus.Connect(t.Context(), options)
		if err == nil {
			b.Close()
		}
		return err
	}
	if err := connect(func(*join.Token) {}); err != nil {
		t.Errorf("the token itself: %v", err)
	}
	for name, change := range map[string]func(*join.Token){
		"an old password":     func(token *join.Token) { token.Password = "old" },
		"another user":        func(token *join.Token) { token.User = queens.CoordinatorUser },
		"another certificate": func(token *join.Token) { token.Certificate = []byte("another") },
		"no certificate":      func(token *join.Token) { token.Certificate = nil },
	} {
		if err := connect(change); !errors.Is(err, queens.ErrNoConnection) ||
			strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
