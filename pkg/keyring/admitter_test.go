package keyring_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nqueens/pkg/bus"
	"nqueens/pkg/identity"
	"nqueens/pkg/keyring"
)

// A list of public keys admits these, beside what else admits, and is read again. What is no list is an
// error that names the file and the line, and not what it has; the last good list stays.
func TestListOfAdmittedKeys(t *testing.T) {
	t.Parallel()
	dir, path := t.TempDir(), filepath.Join(t.TempDir(), "admitted")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	first, second, other := newKey(t), newKey(t), newKey(t)
	write("# the workers of the lab\n\n  " + first + "\r\n" + second + " # lab-2\n")
	ring, _, err := keyring.Init(dir, keyring.Options{})
	if err != nil {
		t.Fatal(err)
	}
	added, err := ring.Add(bus.Worker, "lab-3", "")
	if err != nil {
		t.Fatal(err)
	}
	admitter, err := keyring.NewAdmitter(keyring.Sources{Folder: dir, List: path})
	if err != nil {
		t.Fatal(err)
	}
	expect := func(when string, keys ...string) {
		t.Helper()
		for _, key := range []string{first, second, other, added.Key} {
			want := false
			for _, k := range keys {
				want = want || k == key
			}
			if got, _ := admitter.Admits(key, nil); got != want {
				t.Errorf("%s: key %s is admitted: %v", when, key, got)
			}
		}
	}
	expect("at the start", first, second, added.Key)
	if keys, token := admitter.Count(first, other); keys != 5 || !token { // one is that of the folder's own worker
		t.Errorf("it counts %d keys, and a token: %v", keys, token)
	}
	write(other + "\n" + second + "\n")
	if changed, err := admitter.Reread(); err != nil || !changed {
		t.Errorf("after a change others are admitted: %v, %v", changed, err)
	}
	expect("after a change", other, second, added.Key)
	id, err := identity.New()
	if err != nil {
		t.Fatal(err)
	}
	seed := filepath.Join(dir, "seed")
	if err := id.Create(seed); err != nil {
		t.Fatal(err)
	}
	secret, err := os.ReadFile(seed)
	if err != nil {
		t.Fatal(err)
	}
	for name, line := range map[string]string{
		"half a key": first[:55], "two keys": first + " " + second, "a name": "lab-2 " + first, "a seed": strings.TrimSpace(string(secret)),
	} {
		write("# workers\n" + first + "\n" + line + "\n")
		changed, err := admitter.Reread()
		if changed || !errors.Is(err, keyring.ErrList) || !strings.Contains(err.Error(), path+": line 3 ") || strings.Contains(err.Error(), line) {
			t.Errorf("%s: error %v", name, err)
		}
		if _, err := keyring.NewAdmitter(keyring.Sources{List: path}); !errors.Is(err, keyring.ErrList) {
			t.Errorf("%s at the start: error %v", name, err)
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, err := admitter.Reread(); !errors.Is(err, keyring.ErrList) || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without the file: %v", err)
	}
	expect("after the damage", other, second, added.Key)
	if _, err := keyring.NewAdmitter(keyring.Sources{List: dir}); !errors.Is(err, keyring.ErrList) {
		t.Errorf("a folder as a list: %v", err)
	}
}

// A folder without a token admits who is listed, and nobody else; a token that is named must be there.
func TestAdmitterWithoutAToken(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ring, _, err := keyring.Init(dir, keyring.Options{})
	if err != nil {
		t.Fatal(err)
	}
	named, err := keyring.NewAdmitter(keyring.Sources{TokenFile: ring.TokenFile()})
	if err != nil {
		t.Fatal(err)
	}
	if keys, token := named.Count(); keys != 0 || !token {
		t.Errorf("a token alone counts %d keys, and a token: %v", keys, token)
	}
	for _, file := range []string{ring.TokenFile(), filepath.Join(dir, "coordinator", "join.token")} {
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := named.Reread(); err == nil {
		t.Error("a token whose file is gone is no error")
	}
	if _, token := named.Count(); !token {
		t.Error("a token whose file is gone admits no more, without anybody having replaced it")
	}
	if _, err := keyring.NewAdmitter(keyring.Sources{TokenFile: ring.TokenFile()}); err == nil {
		t.Error("a token that is named and missing is no error")
	}
	admitter, err := keyring.NewAdmitter(keyring.Sources{Folder: dir})
	if err != nil {
		t.Fatal(err)
	}
	if keys, token := admitter.Count(); keys != 1 || token {
		t.Errorf("the folder counts %d keys, and a token: %v", keys, token)
	}
}

// Ten thousand users are read in a time that is proportional to their number.
func BenchmarkReread(b *testing.B) {
	for _, n := range []int{1000, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			dir := b.TempDir()
			var users strings.Builder
			for i := range n {
				id, err := identity.New()
				if err != nil {
					b.Fatal(err)
				}
				fmt.Fprintf(&users, "worker w%d %s\n", i, id.Key())
			}
			text := users.String()
			for b.Loop() {
				text += "#\n" // it has changed
				if err := os.WriteFile(filepath.Join(dir, "users"), []byte(text), 0o600); err != nil {
					b.Fatal(err)
				}
				if _, err := keyring.NewAdmitter(keyring.Sources{Folder: dir}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
