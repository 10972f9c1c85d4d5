package keyring_test

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"nqueens/pkg/bus"
	"nqueens/pkg/identity"
	"nqueens/pkg/keyring"
)

func TestAddAndRevoke(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, _, err := keyring.Init(dir, keyring.Options{ServerDir: "/etc/nats/server"}); err != nil {
		t.Fatal(err)
	}
	ring, err := keyring.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	config := func() string { return string(readFiles(t, dir)["server/auth.conf"]) }
	before := config()
	user, err := ring.Add(bus.Worker, "lab-3", "")
	if err != nil {
		t.Fatal(err)
	}
	id, err := identity.Load(filepath.Join(dir, "lab-3.nkey"))
	if err != nil || id.Key() != user.Key || id.Role != "worker" {
		t.Errorf("the key's file has %+v, error %v", id, err)
	}
	if !strings.Contains(config(), user.Key) || !strings.Contains(config(), `"/etc/nats/server/server.crt"`) {
		t.Errorf("the server's configuration after Add is\n%s", config())
	}
	for _, name := range []string{"", "a b", "../x", "lab-3", "worker", strings.Repeat("x", 65)} {
		if _, err := ring.Add(bus.Worker, name, ""); err == nil {
			t.Errorf("a user %q is added", name)
		}
	}
	if _, err := ring.Add("admin", "x", ""); err == nil {
		t.Error("a user with an unknown role is added")
	}
	if _, err := ring.Revoke("nobody"); !errors.Is(err, keyring.ErrNoUser) {
		t.Errorf("nobody is revoked: error %v", err)
	}
	if _, err := ring.Revoke(user.Key); err != nil {
		t.Error(err)
	}
	// Also the hash of the token is the same: another one would disconnect all workers.
	if config() != before {
		t.Errorf("the server's configuration after Revoke is\n%s\nbefore\n%s", config(), before)
	}
	if _, err := os.Stat(filepath.Join(dir, "lab-3.nkey")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the key's file is still there: %v", err)
	}
}

// Processes that add users at once add all of them.
func TestAddAtOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, _, err := keyring.Init(dir, keyring.Options{}); err != nil {
		t.Fatal(err)
	}
	const added = 16
	var group sync.WaitGroup
	for i := range added {
		group.Go(func() {
			ring, err := keyring.Open(dir)
			if err == nil {
				_, err = ring.Add(bus.Worker, "lab-"+strconv.Itoa(i), "")
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	ring, err := keyring.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if users, err := ring.Users(); err != nil || len(users) != 3+added {
		t.Errorf("%d users, error %v, want 3 of keys init and %d", len(users), err, added)
	}
}

// A key is of one user: the server starts with no other list.
func TestAKeyIsOfOneUser(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ring, _, err := keyring.Init(dir, keyring.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for name, role := range map[string]bus.Role{"of-another-role": bus.Coordinator, "of-another-user": bus.Worker} {
		if err := os.Link(filepath.Join(dir, "worker.nkey"), filepath.Join(dir, name+".nkey")); err != nil {
			t.Fatal(err)
		}
		if u, err := ring.Add(role, name, ""); err == nil {
			t.Errorf("%+v is added", u)
		}
	}
	if users, err := ring.Users(); err != nil || len(users) != 3 {
		t.Errorf("the users are %+v, error %v", users, err)
	}
}

// A name of a folder adds nothing to the server's configuration.
func TestServerDirIsOneLine(t *testing.T) {
	t.Parallel()
	if _, _, err := keyring.Init(t.TempDir(), keyring.Options{ServerDir: "/a\n}\nb: {"}); err == nil {
		t.Error("a folder with a line feed in its name is accepted")
	}
}

// The embedded server finds its files in a folder that was moved.
func TestMovedFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, _, err := keyring.Init(filepath.Join(dir, "a"), keyring.Options{}); err != nil {
		t.Fatal(err)
	}
	moved := filepath.Join(dir, "b")
	if err := os.Rename(filepath.Join(dir, "a"), moved); err != nil {
		t.Fatal(err)
	}
	ring, err := keyring.Open(moved)
	if err != nil {
		t.Fatal(err)
	}
	config, revoked, err := ring.Access("", newKey(t))
	if err != nil || !revoked || !strings.Contains(config, filepath.Join(moved, "server", "server.key")) {
		t.Errorf("the configuration is\n%s\nerror %v", config, err)
	}
}

// Workers are admitted by the list, which may change, or by the token; a proof is that of one key.
func TestAdmits(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if keyring.IsFolder(dir) {
		t.Error("an empty folder is one of keys")
	}
	ring, _, err := keyring.Init(dir, keyring.Options{})
	if err != nil {
		t.Fatal(err)
	}
	admitter, err := keyring.NewAdmitter(keyring.Sources{Folder: dir})
	if err != nil || !keyring.IsFolder(dir) {
		t.Fatalf("the folder is not one of keys: %v", err)
	}
	reread := func() {
		t.Helper()
		if changed, err := admitter.Reread(); err != nil || !changed {
			t.Errorf("others are admitted than before: %v, %v", changed, err)
		}
		if changed, err := admitter.Reread(); err != nil || changed {
			t.Errorf("read once more, others are admitted: %v, %v", changed, err)
		}
	}
	token, err := identity.LoadToken(ring.TokenFile())
	if err != nil {
		t.Fatal(err)
	}
	stranger, other := newKey(t), newKey(t)
	proof := identity.Admission([]byte(token.Secret), stranger)
	for _, test := range []struct {
		key   string
		proof []byte
		want  bool
	}{{stranger, nil, false}, {stranger, proof, true}, {other, proof, false}, {stranger, proof[:31], false}, {"", nil, false}} {
		if got, _ := admitter.Admits(test.key, test.proof); got != test.want {
			t.Errorf("key %s with proof %x is admitted: %v", test.key, test.proof, got)
		}
	}
	added, err := ring.Add(bus.Worker, "lab-3", "")
	if err != nil {
		t.Fatal(err)
	}
	admits := func(key string, proof []byte) bool { admitted, _ := admitter.Admits(key, proof); return admitted }
	if reread(); !admits(added.Key, nil) {
		t.Error("a worker that was added is not admitted")
	}
	watcher, err := ring.Add(bus.Watcher, "eve", "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ring.Revoke("lab-3"); err != nil {
		t.Fatal(err)
	}
	if reread(); admits(added.Key, nil) {
		t.Error("a revoked worker is admitted")
	}
	if admits(watcher.Key, nil) {
		t.Error("a watcher is admitted as a worker")
	}
	if err := ring.RenewToken(); err != nil {
		t.Fatal(err)
	}
	if reread(); admits(stranger, proof) {
		t.Error("the proof of a token that was replaced admits")
	}
}

func newKey(t *testing.T) string {
	t.Helper()
	id, err := identity.New()
	if err != nil {
		t.Fatal(err)
	}
	return id.Key()
}
