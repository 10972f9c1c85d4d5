//go:build unix

package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nqueens/pkg/identity"
)

// The keys in the file of --admitted are voters on any server. The file is read again while the run goes on:
// what is no list changes nothing, and is said once.
func TestAdmittedKeysAreVoters(t *testing.T) {
	long(t)
	server, dir := startServer(t), t.TempDir()
	list := filepath.Join(dir, "admitted")
	key := func(name string) string {
		id, err := identity.New()
		if err == nil {
			err = id.Create(filepath.Join(dir, name))
		}
		if err != nil {
			t.Fatal(err)
		}
		return id.Key()
	}
	write := func(lines ...string) {
		t.Helper()
		if err := os.WriteFile(list+".new", []byte(strings.Join(lines, "\n")), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(list+".new", list); err != nil {
			t.Fatal(err)
		}
	}
	first, second := key("first"), key("second")
	write("# two machines", first)
	count := startCount(t, "8", "--place", "0,0", "--symmetry", "none", "--nats", server.url, "--admitted", list, "--redundancy", "2", "--spot-check", "0%")
	count.Await(`"redundancy":2,"keys":1,.*(fewer keys are admitted than must agree on each task)`)
	startWorker(t, server.url, "--identity", filepath.Join(dir, "first"))
	count.Await(`"voters":1,.*(the run waits for workers with further admitted keys)`)
	write("first", "second")
	count.Await(`(line 1 is not the public key of a worker)`)
	write(first, second+" # the other one")
	count.Await(`"keys":2,"token":false,.*(the admitted keys have changed)`)
	startWorker(t, server.url, "--identity", filepath.Join(dir, "second"))
	count.ExpectTotal("4")
	if count.Lines(`"confirmed":"redundant","keys":2,.*"run ended"`) != 1 {
		t.Error("the log does not say that two keys agree on every task")
	}
	if n := count.Lines("can't be read again"); n != 1 {
		t.Errorf("it says %d times that the list is none", n)
	}
}
