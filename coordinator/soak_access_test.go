//go:build unix

package main_test

import (
	"fmt"
	"strings"
	"syscall"

	"github.com/nats-io/nats.go"
)

// hostileName is the user of the hostile client.
const hostileName = "hostile"

func workerName(slot int) string { return fmt.Sprint("worker", slot) }

// makeKeys makes the keys of the soak's users, unless its servers are open to everybody.
func (s *soak) makeKeys() {
	s.t.Helper()
	open := s.rng.IntN(3) == 0
	switch *soakAccess {
	case "keys", "open":
		open = *soakAccess == "open"
	case "":
	default:
		s.t.Fatalf("-soak.access must be keys or open, not %q", *soakAccess)
	}
	if open {
		return
	}
	users := []string{hostileName}
	for slot := range soakWorkers + 1 {
		users = append(users, workerName(slot))
	}
	s.keys = initKeys(s.t, users...)
	s.serverFlags = []string{"-c", s.keys.file("server/auth.conf")}
}

func (s *soak) accessText() string {
	if s.keys == nil {
		return "all that a server without keys permits"
	}
	return "the credentials of a worker"
}

// url returns the address of the servers.
func (s *soak) url() string {
	if s.keys == nil {
		return s.server.url
	}
	return strings.ReplaceAll(s.server.url, "nats://", "tls://")
}

// as returns the flags with which a command connects as a user.
func (s *soak) as(user string) []string {
	if s.keys == nil {
		return []string{"--nats", s.url()}
	}
	s.keys.url = s.url()
	return s.keys.as(user)
}

// userOptions returns the options with which NATS's own client connects as a user.
func (s *soak) userOptions(user string) []nats.Option {
	s.t.Helper()
	if s.keys == nil {
		return nil
	}
	id := s.keys.identity(user)
	return []nats.Option{
		nats.Nkey(id.Key(), id.Sign), nats.CustomInboxPrefix("_INBOX_" + id.Key()), nats.Secure(s.keys.tls()),
	}
}

// watch starts a watcher of the main run.
func (s *soak) watch() {
	s.t.Helper()
	if s.run != "" {
		s.watcher = startWatch(s.t, append(s.as("watcher"), s.run)...)
	}
}

// endWatch ends the watcher. If it has printed anything, it is the total.
func (s *soak) endWatch() {
	s.t.Helper()
	if s.watcher == nil {
		return
	}
	_ = s.watcher.Cmd.Process.Signal(syscall.SIGINT) // it may have ended by itself
	s.watcher.AwaitEndOr("its end", func() bool { return false })
	if out := s.watcher.Stdout(); out != "" && out != known(s.n)+"\n" {
		s.t.Fatalf("a watcher printed %q", out)
	}
	s.expectNoCrash(s.watcher)
	s.watcher = nil
}
