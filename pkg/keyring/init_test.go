package keyring_test

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/crypto/bcrypt"

	"nqueens/pkg/bus"
	"nqueens/pkg/identity"
	"nqueens/pkg/keyring"
)

// Init completes no ring: it names what is missing, and writes nothing.
func TestInitRepairsNothing(t *testing.T) {
	t.Parallel()
	for missing, refused := range map[string]bool{
		"":                         false,
		"ca.key":                   false, // it is best kept elsewhere
		"watcher.nkey worker.nkey": false, // they may have been moved to their users
		"coordinator.nkey":         false,
		"ca.crt":                   true,
		"users":                    true,
		"worker":                   true,
		"server/auth.conf":         true,
		"server/server.crt":        true,
		"server/server.key":        true,
		"server/ca.crt":            true,
		"coordinator/join.token":   true,
		"coordinator":              true,
		"ca.crt users worker server coordinator ca.key": true, // keys of users are left
	} {
		t.Run(missing, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "keys")
			if _, made, err := keyring.Init(dir, keyring.Options{}); err != nil || len(made) != 15 {
				t.Fatalf("Init has made %q, error %v", made, err)
			}
			expectWhole(t, readFiles(t, dir))
			for name := range strings.FieldsSeq(missing) {
				if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
					t.Fatal(err)
				}
			}
			left := readFiles(t, dir)
			_, made, err := keyring.Init(dir, keyring.Options{})
			if errors.Is(err, keyring.ErrIncomplete) != refused || (err != nil) != refused || len(made) > 0 {
				t.Errorf("Init has made %q, error %v", made, err)
			}
			for name := range strings.FieldsSeq(missing) {
				if refused && !strings.Contains(err.Error(), name) && name != "ca.key" {
					t.Errorf("the error %q does not name %s", err, name)
				}
			}
			if now := readFiles(t, dir); !maps.EqualFunc(now, left, bytes.Equal) {
				t.Errorf("the folder has %d files, and had %d", len(now), len(left))
			}
		})
	}
}

// Of a ring that is there, Init adds names to the certificate, and can tell the server another folder. All else stays.
func TestInitExtends(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, _, err := keyring.Init(dir, keyring.Options{ServerDir: "/etc/nats/server"}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		o    keyring.Options
		want []string
	}{
		{keyring.Options{Hosts: []string{"192.0.2.7"}}, []string{"server/server.crt"}},
		{keyring.Options{Hosts: []string{"192.0.2.7"}, ServerDir: "/etc/nats/server"}, nil},
		{keyring.Options{ServerDir: "/srv/nats"}, []string{"server/auth.conf"}},
		{keyring.Options{}, nil},
	} {
		before := readFiles(t, dir)
		_, made, err := keyring.Init(dir, c.o)
		if err != nil || !slices.Equal(made, c.want) {
			t.Errorf("%+v: Init has made %q, error %v, want %q", c.o, made, err, c.want)
		}
		after := readFiles(t, dir)
		expectSame(t, before, after, c.want)
		expectWhole(t, after)
	}
	if config := readFiles(t, dir)["server/auth.conf"]; !bytes.Contains(config, []byte("/srv/nats/server.key")) {
		t.Errorf("the configuration is\n%s", config)
	}
}

// expectSame checks that files stay as they are, but for some.
func expectSame(t *testing.T, before, after map[string][]byte, but []string) {
	t.Helper()
	for name, data := range before {
		if !slices.Contains(but, name) && !bytes.Equal(after[name], data) {
			t.Errorf("%s is not what it was", name)
		}
	}
}

// expectWhole checks that the files of a ring belong together.
func expectWhole(t *testing.T, files map[string][]byte) {
	t.Helper()
	pair, err := tls.X509KeyPair(files["server/server.crt"], files["server/server.key"])
	if err != nil {
		t.Fatal(err)
	}
	authority := x509.NewCertPool()
	authority.AppendCertsFromPEM(files["ca.crt"])
	for _, host := range []string{"localhost", "nats"} {
		if _, err := pair.Leaf.Verify(x509.VerifyOptions{DNSName: host, Roots: authority}); err != nil {
			t.Error(err)
		}
	}
	token, err := identity.ParseToken(files["worker/join.token"])
	if err != nil || !bytes.Equal(token.Authority, files["ca.crt"]) {
		t.Errorf("the token's file has the authority %s, error %v", token.Authority, err)
	}
	config := string(files["server/auth.conf"])
	_, hash, _ := strings.Cut(config, `password: "`)
	hash, _, _ = strings.Cut(hash, `"`)
	if err := bcrypt.CompareHashAndPassword([]byte(hash), []byte(token.Secret)); err != nil {
		t.Errorf("the server's configuration has another token: %v", err)
	}
	for line := range strings.Lines(string(files["users"])) {
		if fields := strings.Fields(line); fields[0] != "#" && !strings.Contains(config, fields[2]) {
			t.Errorf("the server's configuration lacks user %s", fields[1])
		}
	}
	for name, of := range map[string]string{
		"server/ca.crt": "ca.crt", "coordinator/ca.crt": "ca.crt", "coordinator/users": "users",
		"coordinator/coordinator.nkey": "coordinator.nkey", "coordinator/join.token": "worker/join.token",
	} {
		if !bytes.Equal(files[name], files[of]) || len(files[name]) == 0 {
			t.Errorf("%s is no copy of %s", name, of)
		}
	}
}

// Init replaces nothing that it can't read, and a user that was revoked stays so.
func TestInitKeepsWhatIsThere(t *testing.T) {
	t.Parallel()
	for name, content := range map[string]string{
		"users": "worker x", "worker/join.token": "short", "ca.crt": "-----BEGIN", "ca.key": "", "server/server.key": "?",
		"server/server.crt": "", "server/auth.conf": "port: 4222",
	} {
		dir := t.TempDir()
		if _, _, err := keyring.Init(dir, keyring.Options{}); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		before := readFiles(t, dir)
		o := keyring.Options{Hosts: []string{"192.0.2.7"}}
		if name == "worker/join.token" {
			o = keyring.Options{ServerDir: "/srv/nats"}
		}
		if _, made, err := keyring.Init(dir, o); err == nil || !strings.Contains(err.Error(), path) || len(made) > 0 {
			t.Errorf("%s with %q: Init has made %q, error %v", name, content, made, err)
		}
		expectSame(t, before, readFiles(t, dir), nil)
	}

	dir := t.TempDir()
	ring, _, err := keyring.Init(dir, keyring.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"worker", "coordinator", "watcher"} { // and then there is no user
		if _, err := ring.Revoke(name); err != nil {
			t.Fatal(err)
		}
		if _, made, err := keyring.Init(dir, keyring.Options{}); err != nil || len(made) > 0 {
			t.Errorf("after the end of %s, Init has made %q, error %v", name, made, err)
		}
	}
	if files := readFiles(t, dir); files["worker.nkey"] != nil || files["coordinator.nkey"] != nil || files["coordinator/coordinator.nkey"] != nil {
		t.Error("the key of a revoked user is there")
	}
	if users, err := ring.Users(); err != nil || len(users) > 0 {
		t.Errorf("the users are %v, error %v", users, err)
	}
}

// A new token reaches the server and the coordinator, and changes no key.
func TestRenewToken(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ring, _, err := keyring.Init(dir, keyring.Options{})
	if err != nil {
		t.Fatal(err)
	}
	before := readFiles(t, dir)
	if err := ring.RenewToken(); err != nil {
		t.Fatal(err)
	}
	after := readFiles(t, dir)
	changed := []string{"worker/join.token", "coordinator/join.token", "server/auth.conf"}
	expectSame(t, before, after, changed)
	for _, name := range changed {
		if bytes.Equal(before[name], after[name]) {
			t.Errorf("%s has not changed", name)
		}
	}
	expectWhole(t, after)
	if _, err := ring.Add(bus.Worker, keyring.JoinToken, ""); err == nil {
		t.Error("a user has the name of the token")
	}
}

// A worker may keep its private key: the ring has the public one alone.
func TestAddAPublicKey(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ring, _, err := keyring.Init(dir, keyring.Options{})
	if err != nil {
		t.Fatal(err)
	}
	key, other := newKey(t), newKey(t)
	if u, err := ring.Add(bus.Worker, "lab", key); err != nil || u.Key != key {
		t.Fatalf("added is %+v, error %v", u, err)
	}
	files := readFiles(t, dir)
	if !bytes.Contains(files["users"], []byte(key)) || !bytes.Contains(files["server/auth.conf"], []byte(key)) || files["lab.nkey"] != nil {
		t.Errorf("the list of users is\n%s", files["users"])
	}
	for name, key := range map[string]string{
		"lab": other, "again": key, "worker": other, "short": key[:55], "lower": strings.ToLower(other), "lines": other + "\n",
		"seed": strings.Fields(string(files["worker.nkey"]))[0],
	} {
		if u, err := ring.Add(bus.Worker, name, key); err == nil {
			t.Errorf("%s: %+v is added", name, u)
		}
	}
	if err := os.Link(filepath.Join(dir, "worker.nkey"), filepath.Join(dir, "left.nkey")); err != nil {
		t.Fatal(err)
	}
	if u, err := ring.Add(bus.Worker, "left", other); err == nil {
		t.Errorf("%+v is added beside another key of that name", u)
	}
	if _, err := ring.Revoke("lab"); err != nil {
		t.Error(err)
	}
}

// What a coordinator needs is in a folder of its own, which may be a volume or a copy.
func TestAdmitterOfACoordinator(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ring, _, err := keyring.Init(dir, keyring.Options{})
	if err != nil {
		t.Fatal(err)
	}
	added, err := ring.Add(bus.Worker, "lab", "")
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(dir, "coordinator")
	admitter, err := keyring.NewAdmitter(keyring.Sources{Folder: folder})
	if err != nil || !keyring.IsFolder(folder) {
		t.Fatalf("the folder of the coordinator is no folder of keys: %v", err)
	}
	token, err := identity.LoadToken(ring.TokenFile())
	if err != nil {
		t.Fatal(err)
	}
	joined := newKey(t)
	for _, c := range []struct {
		key, what         string
		proof             []byte
		admitted, byToken bool
	}{
		{added.Key, "a listed key", nil, true, false},
		{added.Key, "a listed key with the proof of the token", identity.Admission([]byte(token.Secret), added.Key), true, false},
		{joined, "a key with the proof of the token", identity.Admission([]byte(token.Secret), joined), true, true},
		{joined, "a key without proof", nil, false, false},
	} {
		if admitted, byToken := admitter.Admits(c.key, c.proof); admitted != c.admitted || byToken != c.byToken {
			t.Errorf("%s: admitted %v, by token %v", c.what, admitted, byToken)
		}
	}
}
