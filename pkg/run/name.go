// Package run is the plain data of a run over time: its name and state, its record on the
// server, what coordinator and workers report, and positions in the stream of results. It
// does no I/O and starts no goroutine. What is counted is in package queens.
package run

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// NewName returns a name for a run of board side n that starts at the given time, such as
// n18-20261120-153012-ab12.
func NewName(n int, at time.Time) string {
	var suffix [2]byte
	rand.Read(suffix[:]) // never fails, see crypto/rand
	return fmt.Sprintf("n%d-%s-%s", n, at.UTC().Format("20060102-150405"), hex.EncodeToString(suffix[:]))
}

var wholeName = regexp.MustCompile(`^n\d+-\d{8}-\d{6}-[0-9a-f]{4}$`)

// IsWholeName reports whether a text has the form of the names that [NewName] returns: it then begins no
// other name.
func IsWholeName(text string) bool { return wholeName.MatchString(text) }

// AmbiguousError says that a text begins the names of several runs.
type AmbiguousError struct {
	Text  string
	Names []string // of these runs; at least two
}

func (e *AmbiguousError) Error() string {
	const most = 8
	text := strings.Join(e.Names[:min(most, len(e.Names))], ", ")
	if more := len(e.Names) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Sprintf("%q begins the names of %d runs: %s: give more of the name", e.Text, len(e.Names), text)
}

// FindName returns the name that a person means: the text itself if it is one of the names, or else the only
// one that begins so. It returns "" if there is none, and an [AmbiguousError] if there are several. Other parts
// of a name, such as a single digit, name no run: they often occur in the name of another.
func FindName(text string, names []string) (string, error) {
	if slices.Contains(names, text) {
		return text, nil
	}
	var found []string
	for _, name := range names {
		if strings.HasPrefix(name, text) && !slices.Contains(found, name) {
			found = append(found, name)
		}
	}
	switch len(found) {
	case 0:
		return "", nil
	case 1:
		return found[0], nil
	}
	return "", &AmbiguousError{Text: text, Names: found}
}
