package cli

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"math/big"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nkeys"
	"github.com/rs/zerolog"

	"nqueens/pkg/identity"
)

// credentialFiles writes one file of each kind, and some of none, and returns their paths by kind.
func credentialFiles(t *testing.T) map[string]string {
	t.Helper()
	id, err := identity.New()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	seed := filepath.Join(dir, "seed")
	if err := id.Create(seed); err != nil {
		t.Fatal(err)
	}
	account, err := nkeys.CreateAccount()
	if err != nil {
		t.Fatal(err)
	}
	accountSeed, err := account.Seed()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(seed)
	if err != nil {
		t.Fatal(err)
	}
	certificate, key := selfSigned(t)
	token := identity.NewToken()
	creds := "-----BEGIN NATS USER JWT-----\naaaa.bbbb.cccc\n------END NATS USER JWT------\n\n" +
		"-----BEGIN USER NKEY SEED-----\n" + string(text) + "------END USER NKEY SEED------\n"
	files := map[string]string{"seed": seed, "missing": filepath.Join(dir, "missing"), "folder": dir}
	for name, text := range map[string]string{
		"token": string(token.Text()), "token with authority": string(token.Text()) + certificate,
		"token with a key": string(token.Text()) + key, "token with half an authority": string(token.Text()) + certificate[:80],
		"creds": creds, "half creds": creds[:100], "creds of an account": strings.Replace(creds, string(text), string(accountSeed)+"\n", 1),
		"creds without JWT": strings.Replace(creds, "aaaa.bbbb.cccc", "aaaa", 1), "creds of a key": string(text),
		"certificate": certificate, "commented certificate": "subject=/CN=x\n" + certificate, "half a certificate": certificate[:80],
		"key": key, "other key": second(selfSigned(t)), "public key": id.Key() + "\n", "account": string(accountSeed),
		"empty": "", "blank": "\n \n", "text": "hello\n", "binary": "\x00\xff\xfe",
	} {
		files[name] = filepath.Join(dir, name)
		if err := os.WriteFile(files[name], []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

func second(_, b string) string { return b }

// selfSigned returns a certificate and its key.
func selfSigned(t *testing.T) (certificate, key string) {
	t.Helper()
	pair, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, pair.Public(), pair)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(pair)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
		string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}))
}

// Each flag takes the files of its kind alone. A wrong file is a usage error before anything connects: it
// names the flag and the file, and quotes no secret.
func TestCredentialFiles(t *testing.T) {
	files := credentialFiles(t)
	for flag, test := range map[string]struct {
		set   func(c *Connection, path string)
		takes []string
	}{
		"nkey":       {func(c *Connection, path string) { c.NKey = path }, []string{"seed", "creds of a key"}},
		"token-file": {func(c *Connection, path string) { c.TokenFile = path }, []string{"token", "token with authority"}},
		"creds":      {func(c *Connection, path string) { c.Creds = path }, []string{"creds"}},
		"tls-ca":     {func(c *Connection, path string) { c.Authority = path }, []string{"certificate", "commented certificate", "token with authority"}},
		"tls-cert": {
			func(c *Connection, path string) { c.certificate, c.key = path, files["key"] },
			[]string{"certificate", "commented certificate", "token with authority"},
		},
		"tls-key": {
			func(c *Connection, path string) { c.certificate, c.key = files["certificate"], path },
			[]string{"key", "token with a key"},
		},
	} {
		for name, path := range files {
			c := &Connection{}
			test.set(c, path)
			err := c.Check(zerolog.Nop())
			if slices.Contains(test.takes, name) {
				if err != nil {
					t.Errorf("--%s with %s: %v", flag, name, err)
				}
				continue
			}
			if !errors.As(err, new(usageError)) {
				t.Errorf("--%s with %s: error %v, want a usage error", flag, name, err)
				continue
			}
			says := err.Error()
			if !strings.HasPrefix(says, "--tls-cert ") && !strings.HasPrefix(says, "--"+flag+": ") || !strings.Contains(says, path) {
				t.Errorf("--%s with %s: %q does not name flag and file", flag, name, says)
			}
			if text, err := os.ReadFile(path); err == nil {
				for word := range bytes.FieldsSeq(text) {
					if len(word) > 40 && len(word) < 100 && strings.Contains(says, string(word)) {
						t.Errorf("--%s with %s: %q quotes the file", flag, name, says)
					}
				}
			}
		}
	}
}

// A secret that every user of the machine can read works, with a warning; what is no secret does not
// matter.
func TestSecretsThatEverybodyCanRead(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no such modes")
	}
	files := credentialFiles(t)
	for _, path := range files {
		if path != files["missing"] && path != files["folder"] {
			if err := os.Chmod(path, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, test := range map[string]struct {
		c    Connection
		file string // of the warning
	}{
		"nkey":  {Connection{NKey: files["seed"]}, files["seed"]},
		"token": {Connection{TokenFile: files["token"]}, files["token"]},
		"creds": {Connection{Creds: files["creds"]}, files["creds"]},
		"ca":    {Connection{Authority: files["certificate"]}, ""},
		"pair":  {Connection{certificate: files["certificate"], key: files["key"]}, files["key"]},
	} {
		var log bytes.Buffer
		if err := test.c.Check(zerolog.New(&log)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		warned := strings.Contains(log.String(), `"level":"warn"`) && strings.Contains(log.String(), test.file)
		if warned != (test.file != "") {
			t.Errorf("%s: the log is %q", name, &log)
		}
	}
}
