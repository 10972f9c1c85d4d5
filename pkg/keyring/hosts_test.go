package keyring_test

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"nqueens/pkg/bus"
	"nqueens/pkg/keyring"
)

// Another name of the server changes its certificate, and nothing else: what clients, workers and
// the other servers have stays valid.
func TestAddHosts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ring, _, err := keyring.Init(dir, keyring.Options{Hosts: []string{"192.0.2.7"}})
	if err != nil {
		t.Fatal(err)
	}
	before := readFiles(t, dir)
	if changed, err := ring.AddHosts([]string{"192.0.2.7", "nats"}); changed || err != nil {
		t.Errorf("hosts that the certificate has: changed %t, error %v", changed, err)
	}
	if changed, err := ring.AddHosts([]string{"counter.example.org"}); !changed || err != nil {
		t.Errorf("another host: changed %t, error %v", changed, err)
	}
	after := readFiles(t, dir)
	for name, data := range before {
		if same := bytes.Equal(data, after[name]); same == (name == "server/server.crt") {
			t.Errorf("%s is unchanged: %t", name, same)
		}
	}
	authority := x509.NewCertPool()
	authority.AppendCertsFromPEM(after["ca.crt"])
	pair, err := tls.X509KeyPair(after["server/server.crt"], after["server/server.key"])
	if err != nil {
		t.Fatal(err)
	}
	for _, host := range []string{"localhost", "127.0.0.1", "nats", "192.0.2.7", "counter.example.org"} {
		if _, err := pair.Leaf.Verify(x509.VerifyOptions{DNSName: host, Roots: authority}); err != nil {
			t.Error(err)
		}
	}
	// As the other end of a route.
	client := x509.VerifyOptions{Roots: authority, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	if _, err := pair.Leaf.Verify(client); err != nil {
		t.Error(err)
	}
}

// Servers that start at once, with other addresses each, all have the same keys, and find a key and a certificate
// that belong together.
func TestOpenOrInitAtOnce(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "runs", "keys")
	keys := make([]string, 8)
	var group sync.WaitGroup
	for i := range keys {
		group.Go(func() {
			var users []bus.User
			ring, err := keyring.OpenOrInit(dir)
			if err == nil {
				users, err = ring.Users()
			}
			if err == nil {
				keys[i] = users[0].Key
				_, err = ring.AddHosts([]string{fmt.Sprintf("192.0.2.%d", i)})
			}
			if err == nil {
				_, err = tls.LoadX509KeyPair(filepath.Join(dir, "server", "server.crt"), filepath.Join(dir, "server", "server.key"))
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if len(slices.Compact(keys)) != 1 {
		t.Errorf("they have the keys %q", keys)
	}
}

// Without the key of the authority, which is best kept away, only the names that the certificate has
// are accepted.
func TestAddHostsWithoutAuthority(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ring, _, err := keyring.Init(dir, keyring.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, "ca.key")); err != nil {
		t.Fatal(err)
	}
	if changed, err := ring.AddHosts([]string{"localhost"}); changed || err != nil {
		t.Errorf("a host that the certificate has: changed %t, error %v", changed, err)
	}
	if changed, err := ring.AddHosts([]string{"192.0.2.7"}); changed || err == nil {
		t.Errorf("another host: changed %t, error %v", changed, err)
	}
}

// Others than the owner of the keys may read what the server needs, if it has the group of that
// folder, and nothing else that is secret.
func TestModes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, _, err := keyring.Init(dir, keyring.Options{}); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]os.FileMode{
		"ca.key": 0o600, "coordinator.nkey": 0o600, "watcher.nkey": 0o600, "worker.nkey": 0o600,
		"worker": 0o700, "worker/join.token": 0o600, "server": 0o750, "server/server.key": 0o640,
	} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if mode := info.Mode().Perm(); mode&^want != 0 {
			t.Errorf("%s has mode %o, want %o", name, mode, want)
		}
	}
}

// readFiles returns the contents of all files in a folder.
func readFiles(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	files := make(map[string][]byte)
	for _, pattern := range []string{"*", "*/*"} {
		paths, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			if info, err := os.Stat(path); err != nil || info.IsDir() {
				continue
			}
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			name, _ := filepath.Rel(dir, path) // always inside
			files[filepath.ToSlash(name)] = data
		}
	}
	return files
}
