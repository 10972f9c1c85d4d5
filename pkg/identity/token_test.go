package identity_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nqueens/pkg/identity"
)

func TestTokenFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "token")
	authority := []byte("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
	made := identity.NewToken()
	made.Authority = authority
	if err := os.WriteFile(path, made.Text(), 0o600); err != nil {
		t.Fatal(err)
	}
	read, err := identity.LoadToken(path)
	if err != nil || read.Secret != made.Secret || len(made.Secret) < 52 || !bytes.Equal(read.Authority, authority) {
		t.Errorf("the token %+v is read as %+v, error %v", made, read, err)
	}
	if other := identity.NewToken(); other.Secret == made.Secret {
		t.Error("two tokens have the same secret")
	}
}

// FuzzParseToken checks that a token that is read is one that can be written, and that no error quotes
// what may be a secret.
func FuzzParseToken(f *testing.F) {
	for _, text := range []string{"", "short", strings.Repeat("a", 52), strings.Repeat("a", 52) + "\n-----BEGIN CERTIFICATE-----\n", "sec ret\n"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		token, err := identity.ParseToken(text)
		if err != nil {
			if trimmed := string(bytes.TrimSpace(text)); len(trimmed) > 12 && strings.Contains(err.Error(), trimmed) {
				t.Errorf("the error %q quotes the file", err)
			}
			return
		}
		again, err := identity.ParseToken(token.Text())
		if err != nil || again.Secret != token.Secret || !bytes.Equal(again.Authority, token.Authority) {
			t.Errorf("%q becomes %+v, and then %+v, error %v", text, token, again, err)
		}
	})
}

// A token is made once, by the first process that asks, in a file that only its owner can read.
func TestLoadOrCreateToken(t *testing.T) {
	path := filepath.Join(t.TempDir(), "folder", "page.token")
	tokens := make(chan identity.Token)
	const callers = 8
	for range callers {
		go func() {
			token, err := identity.LoadOrCreateToken(path)
			if err != nil {
				t.Error(err)
			}
			tokens <- token
		}()
	}
	first := <-tokens
	for range callers - 1 {
		if token := <-tokens; token.Secret != first.Secret || token.Secret == "" {
			t.Errorf("tokens %q and %q", first.Secret, token.Secret)
		}
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file: %v, error %v", info, err)
	}
	if err := os.WriteFile(path, []byte("short"), 0o600); err != nil {
		t.Fatal(err)
	}
	if token, err := identity.LoadOrCreateToken(path); err == nil {
		t.Errorf("a file without a token is replaced by %q", token.Secret)
	}
}
