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
	if err := identity.CreateToken(path, authority); err != nil {
		t.Fatal(err)
	}
	first, err := identity.LoadToken(path)
	if err != nil || len(first.Secret) < 52 || !bytes.Equal(first.Authority, authority) {
		t.Errorf("the token is %+v, error %v", first, err)
	}
	if err := identity.CreateToken(path, nil); err != nil {
		t.Fatal(err)
	}
	if again, err := identity.LoadToken(path); err != nil || again.Secret != first.Secret {
		t.Errorf("the token changes to %+v, error %v", again, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file has mode %v, error %v", info.Mode(), err)
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
		again, err := identity.ParseToken(append([]byte(token.Secret+"\n"), token.Authority...))
		if err != nil || again.Secret != token.Secret || !bytes.Equal(again.Authority, token.Authority) {
			t.Errorf("%q becomes %+v, and then %+v, error %v", text, token, again, err)
		}
	})
}
