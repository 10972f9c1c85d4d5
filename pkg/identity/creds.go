package identity

import (
	"bytes"
	"errors"
	"strings"

	"github.com/nats-io/nkeys"
)

// credsBegin is a line of each file of NATS credentials.
var credsBegin = []byte("-----BEGIN NATS USER JWT-----")

// CheckCreds returns nil if a text is that of NATS credentials: the JWT of a user and the seed of its
// key, each between two lines of dashes. Whether the server accepts them is for it to say. The error does
// not quote the text.
func CheckCreds(text []byte) error {
	if !bytes.Contains(text, credsBegin) {
		return errors.New("it has no line " + string(credsBegin))
	}
	jwt, err := nkeys.ParseDecoratedJWT(text)
	if err != nil || strings.Count(jwt, ".") != 2 || strings.ContainsAny(jwt, " \t\r\n") {
		return errors.New("it has no JWT of a user")
	}
	pair, err := nkeys.ParseDecoratedUserNKey(text)
	if err != nil {
		return errors.New("it has no seed of a user after the JWT")
	}
	pair.Wipe()
	return nil
}

// KindOf says for people what a file holds, if that is one of the things by which programs know each
// other; otherwise it returns "".
func KindOf(text []byte) string {
	text = bytes.TrimSpace(text)
	first, _, _ := bytes.Cut(text, []byte("\n"))
	first = bytes.TrimSpace(first)
	switch {
	case len(text) == 0:
		return "nothing"
	case bytes.Contains(text, credsBegin):
		return "NATS credentials"
	case bytes.HasPrefix(first, pemBegin):
		return "a certificate"
	case bytes.HasPrefix(first, []byte("-----BEGIN ")) && bytes.HasSuffix(first, []byte("PRIVATE KEY-----")):
		return "the private key of a certificate"
	case isSeed(first) && bytes.HasPrefix(first, []byte("SU")):
		return "the seed of a user"
	case isSeed(first):
		return "the seed of a key that is not a user's"
	case nkeys.IsValidPublicKey(string(first)):
		return "a public key"
	case tokenSecret.Match(first):
		return "a token"
	}
	return ""
}

// isSeed reports whether a text is the seed of a key of any kind.
func isSeed(text []byte) bool {
	pair, err := nkeys.FromSeed(text)
	if err == nil {
		pair.Wipe()
	}
	return err == nil
}
