package identity

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/nats-io/nkeys"
)

// CheckCreds returns nil if a file has NATS credentials: the JWT of a user and the seed of its key, each
// between two lines of dashes. Whether the server accepts them is for it to say. The error does not quote
// the file.
func CheckCreds(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	jwt, err := nkeys.ParseDecoratedJWT(text)
	if err != nil || strings.Count(jwt, ".") != 2 || strings.ContainsAny(jwt, " \t\r\n") {
		err = errors.New("it has no JWT of a user")
	} else if pair, failed := nkeys.ParseDecoratedUserNKey(text); failed != nil {
		err = errors.New("it has no seed of a user after the JWT")
	} else {
		pair.Wipe()
	}
	if err != nil {
		return fmt.Errorf("%s must hold NATS credentials, the JWT and the seed of a user: %w", path, err)
	}
	return nil
}
