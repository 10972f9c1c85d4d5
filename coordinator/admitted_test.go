//go:build unix

package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nqueens/pkg/cli/clitest"
	"nqueens/pkg/identity"
)

// redundantCount are a count that takes no time, and in which two keys must agree on each task.
var redundantCount = []string{"8", "--place", "0,0", "--symmetry", "none", "--redundancy", "2", "--spot-check", "0%"}

// expectRedundant waits until that count ends, and checks that two keys agree on each of its tasks.
func expectRedundant(t *testing.T, count *clitest.Process) {
	t.Helper()
	count.ExpectTotal("4")
	if count.Lines(`"confirmed":"redundant","keys":2,.*"run ended"`) != 1 {
		t.Error("the log does not say that two keys agree on every task")
	}
}

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
	count := startCount(t, append([]string{"--nats", server.url, "--admitted", list}, redundantCount...)...)
	count.Await(`"redundancy":2,"keys":1,.*(fewer keys are admitted than must agree on each task)`)
	startWorker(t, server.url, "--identity", filepath.Join(dir, "first"))
	count.Await(`"voters":1,.*(the run waits for workers with further admitted keys)`)
	write("first", "second")
	count.Await(`(line 1 is not the public key of a worker)`)
	write(first, second+" # the other one")
	count.Await(`"keys":2,"token":false,.*(the admitted keys have changed)`)
	startWorker(t, server.url, "--identity", filepath.Join(dir, "second"))
	expectRedundant(t, count)
	if n := count.Lines("can't be read again"); n != 1 {
		t.Errorf("it says %d times that the list is none", n)
	}
}

// A server that only this machine reaches has keys and a token too where keys must agree. That the token
// admits any number of keys is said once.
func TestListenWithRedundancyMakesKeys(t *testing.T) {
	long(t)
	count := startCount(t, append([]string{"--workers", "1", "--listen", "127.0.0.1:0"}, redundantCount...)...)
	url := count.Await(`"server":"(tls://127\.0\.0\.1:\d+)".*"workers join with`)
	if r := clitest.Run(t, nil, "worker", "--nats", strings.Replace(url, "tls", "nats", 1), "--threads", "1"); r.Code != 5 {
		t.Errorf("a worker without the token: exit %d, %s", r.Code, r.Stderr)
	}
	count.Await(`"redundancy":2,.*(the join token admits any number of keys)`)
	token := count.Await(`"token":"([^"]+)".*"workers join with`)
	start(t, "worker", "--nats", url, "--token-file", token, "--threads", "1")
	expectRedundant(t, count)
}
