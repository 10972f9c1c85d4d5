package checks

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// freeAddress returns a loopback address at which no process listens.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

// With the files that coordinator keys writes, an unmodified nats-server accepts a coordinator, a
// worker and two watchers over TLS. It accepts no coordinator with the token of a worker or a
// watcher.
func TestKeys(t *testing.T) {
	keys := filepath.Join(t.TempDir(), "keys")
	address := freeAddress(t)
	made := output(t, "coordinator", "keys", keys, "--host", address)
	for _, file := range strings.Fields(made) {
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v (%v)", file, info.Mode(), err)
		}
	}
	server := command(t, t.TempDir(), "nats-server", "-c", "nats.conf")
	server.Dir = keys
	start(t, server).awaits("Server is ready")

	token := func(user string) string { return filepath.Join(keys, user+".token") }
	for _, user := range []string{"join", "watcher"} {
		err := command(t, t.TempDir(), "coordinator", "count", "8", "--join", token(user)).Run()
		if err == nil || !strings.Contains(err.Error(), "status 5") {
			t.Errorf("a coordinator with %s.token: %v", user, err)
		}
	}
	coordinator := start(t,
		command(t, t.TempDir(), "coordinator", "count", "16", "--join", token("coordinator")))
	coordinator.awaits("counting n = 16")
	var watchers []*process
	for _, user := range []string{"watcher", "join"} {
		watchers = append(watchers,
			start(t, command(t, t.TempDir(), "coordinator", "watch", "--join", token(user))))
	}
	for _, w := range watchers {
		w.awaits("waiting for workers")
	}
	worker := start(t, command(t, t.TempDir(), "worker", "--join", token("join"), "--idle-exit", "5s"))
	for _, p := range append(watchers, coordinator) {
		if last := p.ends(); last != "14772512" {
			t.Errorf("%s %v prints %q last", p.cmd.Path, p.cmd.Args, last)
		}
	}
	worker.ends()
}
