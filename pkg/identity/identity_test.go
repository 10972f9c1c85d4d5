package identity_test

import (
	"bytes"
	"crypto/ed25519"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/nats-io/nkeys"

	"nqueens/pkg/identity"
	"nqueens/pkg/identity/identitytest"
	"nqueens/pkg/run"
)

func TestSignaturesVerify(t *testing.T) {
	id, other := identitytest.Of("w"), identitytest.Of("other")
	text := []byte("a text")
	signature, err := id.Sign(text)
	if err != nil || len(signature) != ed25519.SignatureSize {
		t.Fatalf("a signature of %d bytes (error %v)", len(signature), err)
	}
	if err := identity.Verify(id.Key(), text, signature); err != nil {
		t.Error(err)
	}
	for bit := range 8 * len(signature) {
		wrong := bytes.Clone(signature)
		wrong[bit/8] ^= 1 << (bit % 8)
		if identity.Verify(id.Key(), text, wrong) == nil {
			t.Errorf("with bit %d flipped the signature verifies", bit)
		}
	}
	for name, err := range map[string]error{
		"another text":      identity.Verify(id.Key(), []byte("b text"), signature),
		"another key":       identity.Verify(other.Key(), text, signature),
		"no key":            identity.Verify("", text, signature),
		"a giant key":       identity.Verify(strings.Repeat("U", 1<<20), text, signature),
		"no signature":      identity.Verify(id.Key(), text, nil),
		"a short signature": identity.Verify(id.Key(), text, signature[:63]),
		"a long signature":  identity.Verify(id.Key(), text, append(bytes.Clone(signature), 0)),
	} {
		if err == nil || len(err.Error()) > 500 {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// A key has one text: one key is one voter, whatever its owner writes, and no announcement names a key that workers
// refuse to read.
func TestOneTextOfAKey(t *testing.T) {
	id := identitytest.Of("w")
	key, text := id.Key(), []byte("a text")
	signature, err := id.Sign(text)
	if err != nil {
		t.Fatal(err)
	}
	for _, other := range []string{key + "\n", "\r\n" + key, key[:9] + "\n" + key[9:]} {
		if !nkeys.IsValidPublicUserKey(other) {
			t.Errorf("package nkeys refuses %q, so this test shows nothing", other)
		}
		if identity.Verify(other, text, signature) == nil {
			t.Errorf("%q is a key beside %q", other, key)
		}
	}
}

// Keys have the form that other packages expect of them.
func TestKeys(t *testing.T) {
	for range 100 {
		id, err := identity.New()
		if err != nil {
			t.Fatal(err)
		}
		if err := run.ValidateKey(id.Key()); err != nil {
			t.Error(err)
		}
	}
}

// A file holds one key for good: all that ask for it at once get the same, only its owner can read
// it, and nothing else is left in the folder.
func TestLoadOrCreate(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "new", "state")
	path := filepath.Join(folder, "worker.key")
	keys := make([]string, 20)
	var group sync.WaitGroup
	for i := range keys {
		group.Go(func() {
			id, err := identity.LoadOrCreate(path)
			if err != nil {
				t.Error(err)
				return
			}
			keys[i] = id.Key()
		})
	}
	group.Wait()
	for _, key := range keys {
		if key == "" || key != keys[0] {
			t.Errorf("the keys are %q, want one", keys)
			break
		}
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file's mode is %v (error %v)", info.Mode(), err)
	}
	if files, err := os.ReadDir(folder); err != nil || len(files) != 1 {
		t.Errorf("the folder has %v (error %v)", files, err)
	}
	if id, err := identity.Load(path); err != nil || id.Key() != keys[0] {
		t.Errorf("the key is read as %v (error %v)", id, err)
	}
	if err := identitytest.Of("w").Create(path); !errors.Is(err, fs.ErrExist) {
		t.Errorf("another key in the same file: error %v", err)
	}
}

// What is no seed of a user is left alone, and the error names the file and tells no secret.
func TestFilesWithoutAKey(t *testing.T) {
	account, err := nkeys.CreateAccount()
	if err != nil {
		t.Fatal(err)
	}
	seed, err := account.Seed()
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{
		"empty": "", "text": "hello", "public": identitytest.Of("w").Key(), "account": string(seed), "half": "SUAM",
	} {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := identity.LoadOrCreate(path)
		if err == nil || !strings.Contains(err.Error(), path) || len(content) > 10 && strings.Contains(err.Error(), content) {
			t.Errorf("%s: error %v", name, err)
		}
		if left, err := os.ReadFile(path); err != nil || string(left) != content {
			t.Errorf("%s: the file is now %q (error %v)", name, left, err)
		}
	}
	_, err = identity.Load(filepath.Join(t.TempDir(), "missing"))
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file: error %v", err)
	}
}

// The proof of admission is that of RFC 2104 with SHA-256, so that any program can compute it.
func TestAdmission(t *testing.T) {
	token, key := []byte("token"), identitytest.Of("w").Key()
	proof := identity.Admission(token, key)
	if want := "85d1400e6823b513456426d2b7fbea05a6e863d59ed361738c2fc8da0ff71a14"; hex.EncodeToString(proof) != want {
		t.Errorf("the proof for %s is %x, want %s", key, proof, want)
	}
	if !identity.IsAdmitted(token, key, proof) {
		t.Error("the proof does not admit its key")
	}
	for name, admitted := range map[string]bool{
		"another key":   identity.IsAdmitted(token, identitytest.Of("other").Key(), proof),
		"another token": identity.IsAdmitted([]byte("Token"), key, proof),
		"no proof":      identity.IsAdmitted(token, key, nil),
		"half a proof":  identity.IsAdmitted(token, key, proof[:16]),
		"no token":      identity.IsAdmitted(nil, key, identity.Admission(nil, key)),
	} {
		if admitted {
			t.Errorf("%s: the key is admitted", name)
		}
	}
}

func BenchmarkSign(b *testing.B) {
	for name, text := range texts() {
		b.Run(name, func(b *testing.B) {
			id := identitytest.Of("w")
			for b.Loop() {
				if _, err := id.Sign(text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkVerify(b *testing.B) {
	for name, text := range texts() {
		b.Run(name, func(b *testing.B) {
			id := identitytest.Of("w")
			signature, err := id.Sign(text)
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if err := identity.Verify(id.Key(), text, signature); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// texts are as long as the statements of chunks of 1, 32 and 512 tasks.
func texts() map[string][]byte {
	return map[string][]byte{"1": make([]byte, 150), "32": make([]byte, 800), "512": make([]byte, 10_000)}
}
