package join_test

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"nqueens/pkg/join"
	"nqueens/pkg/queens"
)

// Parse refuses a cut file, and any text that Text never returns, except with Windows line ends. No
// error has the password.
func TestParseToken(t *testing.T) {
	want := join.Token{
		Servers: []string{"192.0.2.1:4222", "[2001:db8::1]:4222"}, User: "worker", Password: "s3cr3t",
		Certificate: []byte("DER"),
	}
	text := want.Text()
	got, err := join.Parse(text)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("read as %+v, %v", got, err)
	}
	for size := range text {
		if _, err := join.Parse(text[:size]); err == nil || strings.Contains(err.Error(), want.Password) {
			t.Fatalf("%d of %d bytes: %v", size, len(text), err)
		}
	}
	for i := range text {
		changed := slices.Clone(text)
		changed[i] = '\n'
		if got, err := join.Parse(changed); err == nil && !bytes.Equal(got.Text(), changed) {
			t.Errorf("byte %d changed to a line feed: read as %+v", i, got)
		}
	}
	if got, err := join.Parse(bytes.ReplaceAll(text, []byte("\n"), []byte("\r\n"))); err != nil ||
		got.Password != want.Password {
		t.Errorf("with the line ends of Windows: %+v, %v", got, err)
	}
	if want.TLS().VerifyConnection(tls.ConnectionState{}) == nil {
		t.Error("a server without a certificate is accepted")
	}
	plain := join.Token{Servers: []string{"127.0.0.1:4222"}, User: "worker", Password: "p"}
	if got, err := join.Parse(plain.Text()); err != nil || got.TLS() != nil ||
		got.URLs() != "nats://127.0.0.1:4222" {
		t.Errorf("a token without certificate: %+v, %v", got, err)
	}
	if got := want.URLs(); got != "tls://192.0.2.1:4222,tls://[2001:db8::1]:4222" {
		t.Errorf("URLs %s", got)
	}
}

func FuzzParseToken(f *testing.F) {
	f.Add([]byte("# nqueens token: it lets its holder connect. Keep it secret.\nservers a\nuser " +
		"b\npassword c\nend\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if got, err := join.Parse(text); err == nil {
			if again, err := join.Parse(got.Text()); err != nil || again.Password != got.Password {
				t.Errorf("%q is read as %+v, which is written as %q", text, got, got.Text())
			}
		}
	})
}

// The embedded server's password and certificate are made only once. Its addresses are written at
// each start. The token file is the only file in its folder, beside those of the servers, and only
// its owner can read it. There is TLS on all addresses but loopback.
func TestListening(t *testing.T) {
	data := t.TempDir()
	first, config, path, err := listening(data, "0.0.0.0:4222", "192.0.2.1:4222")
	if err != nil || config == nil || first.Certificate == nil {
		t.Fatalf("%+v, TLS %v, %v", first, config, err)
	}
	again, _, _, err := listening(data, "0.0.0.0:4333", "host.example:4333")
	isSame := again.Password == first.Password && bytes.Equal(again.Certificate, first.Certificate)
	if err != nil || !isSame || !slices.Equal(again.Servers, []string{"host.example:4333"}) {
		t.Errorf("again: %+v, %v", again, err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if files, err := os.ReadDir(filepath.Dir(path)); err != nil || len(files) != 2 {
		t.Errorf("beside the token are %v, %v", files, err)
	}
	local, config, _, err := listening(data, "127.0.0.1:4222", "127.0.0.1:4222")
	isSame = local.Password == first.Password &&
		slices.Equal(local.Servers, []string{"127.0.0.1:4222"})
	if err != nil || config != nil || local.Certificate != nil || !isSame {
		t.Errorf("loopback: %+v, TLS %v, %v", local, config, err)
	}
	if stored, err := join.Load(path); err != nil || stored.Password != first.Password {
		t.Errorf("the file has %+v, %v", stored, err)
	}
	if err := os.WriteFile(path, first.Text()[:40], 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, _, err := listening(data, "127.0.0.1:4222", "127.0.0.1:4222"); err == nil {
		t.Error("a damaged token is replaced: workers elsewhere would be refused")
	}
}

// The token has the newest server that runs, and so have the tokens of invited users. A server that
// ends leaves the others.
func TestSeveralServers(t *testing.T) {
	data := filepath.Join(t.TempDir(), "lab[1]") // no pattern
	start := func(address string, began time.Time) {
		t.Helper()
		if _, _, _, err := listening(data, address, address); err != nil {
			t.Fatal(err)
		}
		_, port, _ := strings.Cut(address, ":")
		file := filepath.Join(data, "join", "servers", port)
		if err := os.Chtimes(file, began, began); err != nil {
			t.Fatal(err)
		}
	}
	check := func(want ...string) {
		t.Helper()
		var running []string
		for _, token := range join.Running(data) {
			running = append(running, token.URLs())
		}
		if !slices.Equal(running, want) {
			t.Errorf("%q run, want %q", running, want)
		}
		path, _ := join.Own(data)
		for _, file := range []string{path, filepath.Join(filepath.Dir(path), "alice.token")} {
			token, err := join.Load(file)
			if err != nil || len(want) > 0 && token.URLs() != want[0] {
				t.Errorf("%s has %q (%v), want %q", file, token.URLs(), err, want)
			}
		}
	}
	now := time.Now()
	start("127.0.0.1:4222", now.Add(-time.Minute))
	path, _ := join.Own(data)
	if _, err := join.Invite(filepath.Dir(path), "alice"); err != nil {
		t.Fatal(err)
	}
	start("192.0.2.1:4223", now.Add(-time.Second))
	start("127.0.0.1:4224", now)
	check("nats://127.0.0.1:4224", "tls://192.0.2.1:4223", "nats://127.0.0.1:4222")
	for _, end := range []struct {
		listen string
		left   []string
	}{
		{"127.0.0.1:4224", []string{"tls://192.0.2.1:4223", "nats://127.0.0.1:4222"}},
		{"127.0.0.1:4222", []string{"tls://192.0.2.1:4223"}},
		{"192.0.2.1:4223", nil}, // the token keeps its addresses: the server may come back
	} {
		if err := join.Unpublish(data, end.listen); err != nil {
			t.Fatal(err)
		}
		check(end.left...)
	}
	if token, err := join.Load(path); err != nil || token.URLs() != "tls://192.0.2.1:4223" {
		t.Errorf("the token has %q, %v", token.URLs(), err)
	}
}

// A file that can't be read is not replaced, and a file that can't be written is an error.
func TestNothingIsReplaced(t *testing.T) {
	data := t.TempDir()
	if _, there := join.Own(data); there {
		t.Error("a token is there before it is made")
	}
	if _, config, path, err := listening(data, "localhost:4222", "localhost:4222"); err != nil ||
		config != nil {
		t.Errorf("localhost: TLS %v, %v", config, err)
	} else if own, there := join.Own(data); !there || own != path {
		t.Errorf("the token is %s, not %s: %v", own, path, there)
	}
	if _, _, err := join.Listening(data, "4222"); err == nil {
		t.Error("a listen address without a host is accepted")
	}
	for file, damage := range map[string]string{
		filepath.Join("server", "server.pem"): "0.0.0.0:4222",
		filepath.Join("join", join.FileName):  "127.0.0.1:4222",
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(data, file)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(data, file), []byte("damaged"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, config, err := join.Listening(data, damage); err == nil || config != nil {
			t.Errorf("with a damaged %s: TLS %v, %v", file, config, err)
		}
	}
	paths, err := join.Keys(filepath.Join(data, "keys"), []string{"192.0.2.1"}, false)
	if err != nil || len(paths) != 6 {
		t.Fatalf("%v, %v", paths, err)
	}
	for _, path := range paths {
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
	}
	for _, file := range []string{paths[0], filepath.Join(data, "keys", "server.pem")} {
		if err := os.WriteFile(file, []byte("damaged"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := join.Keys(filepath.Join(data, "keys"), []string{"192.0.2.1"}, false); err == nil {
			t.Errorf("with a damaged %s nothing is said", file)
		}
	}
	if _, err := join.Keys(filepath.Join(paths[1], "keys"), []string{"192.0.2.1"}, false); err == nil {
		t.Error("a folder that can't be made is not said")
	}
}

// listening makes the token of an embedded server, and publishes it.
func listening(
	data, listen, address string,
) (t join.Token, config *tls.Config, path string, err error) {
	if t, config, err = join.Listening(data, listen); err == nil {
		path, err = t.Publish(data, listen, []string{address})
	}
	return t, config, path, err
}

// A second call of Keys keeps all secrets and changes only the addresses. If renew is set, all
// secrets are new.
func TestKeys(t *testing.T) {
	dir := t.TempDir()
	load := func() (tokens map[string]join.Token) {
		tokens = make(map[string]join.Token)
		for user, file := range map[string]string{
			queens.CoordinatorUser: "coordinator.token", queens.WorkerUser: "join.token",
			queens.WatcherUser: "watcher.token",
		} {
			token, err := join.Load(filepath.Join(dir, file))
			if err != nil || token.User != user {
				t.Fatalf("%s: %+v, %v", file, token, err)
			}
			tokens[user] = token
		}
		return tokens
	}
	for _, host := range []string{"192.0.2.1", "host.example:4333", "2001:db8::1"} {
		paths, err := join.Keys(dir, []string{host}, false)
		if err != nil {
			t.Fatal(err)
		}
		all, _ := filepath.Glob(filepath.Join(dir, "*")) // the pattern is right
		slices.Sort(paths)
		if !slices.Equal(paths, all) {
			t.Errorf("Keys lists %q, and the folder has %q", paths, all)
		}
	}
	before := load()
	if servers := before[queens.WorkerUser].Servers; !slices.Equal(servers,
		[]string{"[2001:db8::1]:4222"}) {
		t.Errorf("servers %v", servers)
	}
	if _, err := join.Keys(dir, []string{"192.0.2.1"}, true); err != nil {
		t.Fatal(err)
	}
	after := load()
	conf, err := os.ReadFile(filepath.Join(dir, "users.conf"))
	if err != nil {
		t.Fatal(err)
	}
	for user := range before {
		if before[user].Password == after[user].Password ||
			bytes.Equal(before[user].Certificate, after[user].Certificate) {
			t.Errorf("%s has the old secrets after a renewal", user)
		}
		if !bytes.Contains(conf, []byte(after[user].Password)) ||
			bytes.Contains(conf, []byte(before[user].Password)) {
			t.Errorf("users.conf does not have the password of %s", user)
		}
	}
	if err := join.WriteUsers(t.TempDir()); err == nil {
		t.Error("a server gets an empty list of users, with which it takes everybody")
	}
}

// An invited user has a token of its own for the same server, which only its owner can read. No
// name is given twice, not even after its user was removed, and none that has another meaning.
func TestInvite(t *testing.T) {
	data := filepath.Join(t.TempDir(), "lab[1]") // no pattern
	dir := filepath.Join(data, "join")
	if _, err := join.Invite(dir, "alice"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without a server: %v", err)
	}
	worker, _, _, err := listening(data, "0.0.0.0:4222", "192.0.2.1:4222")
	if err != nil {
		t.Fatal(err)
	}
	path, err := join.Invite(dir, "alice")
	if err != nil {
		t.Fatal(err)
	}
	token, err := join.Load(path)
	info, failed := os.Stat(path)
	switch {
	case err != nil || failed != nil || info.Mode().Perm() != 0o600:
		t.Errorf("the token: %v, %v", err, failed)
	case token.User != "alice" || token.Password == worker.Password || len(token.Password) < 20:
		t.Errorf("the token is %+v", token)
	case token.URLs() != worker.URLs() || !bytes.Equal(token.Certificate, worker.Certificate):
		t.Errorf("the token is for another server: %+v", token)
	}
	if _, err := join.Invite(dir, "alice"); err == nil {
		t.Error("a user is invited twice")
	}
	if _, err := join.Invite(dir, "bob"); err != nil {
		t.Error(err)
	}
	if _, _, _, err := listening(data, "0.0.0.0:4222", "host.example:4222"); err != nil {
		t.Error(err)
	}
	again, err := join.Load(path)
	if err != nil || again.Password != token.Password || again.URLs() != "tls://host.example:4222" {
		t.Errorf("after a start with another address: %+v, %v", again, err)
	}
	if err := join.Remove(dir, "alice"); err != nil {
		t.Error(err)
	}
	if _, err := join.Invite(dir, "alice"); err == nil {
		t.Error("the name of a removed user is given again")
	}
	if err := token.Save(path); err != nil { // someone puts a copy back
		t.Error(err)
	}
	for _, name := range []string{"", "worker", "coordinator", "watcher", "join", "a.b", "A", "-a",
		"a b", strings.Repeat("a", 64)} {
		if _, err := join.Invite(dir, name); err == nil {
			t.Errorf("user %q is invited", name)
		}
		if err := join.Remove(dir, name); err == nil {
			t.Errorf("user %q is removed", name)
		}
	}
	if err := join.Remove(dir, "carol"); !errors.Is(err, join.ErrNotInvited) {
		t.Errorf("a user that was never invited is removed: %v", err)
	}
	bob := join.Invitation{User: "bob", Path: filepath.Join(dir, "bob.token")}
	list, err := join.Invitations(dir)
	if want := []join.Invitation{{User: "alice", Removed: true}, bob}; err != nil ||
		!slices.Equal(list, want) {
		t.Errorf("invited are %v, %v", list, err)
	}
	passwords, err := join.ReadPasswords(dir)
	if _, there := passwords["alice"]; err != nil || there || len(passwords) != 2 ||
		passwords["worker"] != worker.Password {
		t.Errorf("%d users, error %v", len(passwords), err)
	}
}

// A token that can't be read, or that has the name of another user's, lets nobody in. The others
// stay valid.
func TestDamagedInvitation(t *testing.T) {
	dir := t.TempDir()
	worker := join.Token{Servers: []string{"192.0.2.1:4222"}, User: queens.WorkerUser, Password: "p"}
	other := join.Token{Servers: []string{"192.0.2.1:4222"}, User: "carol", Password: "q"}
	damaged := filepath.Join(dir, "alice.token")
	err := errors.Join(worker.Save(filepath.Join(dir, join.FileName)),
		other.Save(filepath.Join(dir, "bob.token")),
		os.WriteFile(damaged, []byte("damaged"), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	passwords, err := join.ReadPasswords(dir)
	if len(passwords) != 1 || passwords[queens.WorkerUser] != "p" || err == nil ||
		!strings.Contains(err.Error(), damaged) {
		t.Errorf("%v, %v", passwords, err)
	}
}
