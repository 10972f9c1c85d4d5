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
