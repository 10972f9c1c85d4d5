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

// IsWholeName reports whether a text has the form of the names that [NewName] returns: it is then no
// part of another.
func IsWholeName(text string) bool { return wholeName.MatchString(text) }

// AmbiguousError says that a text names several runs.
type AmbiguousError struct {
	Text      string
	Beginning bool     // the text begins the names, and not only is a part of them
	Names     []string // of these runs; at least two
}

func (e *AmbiguousError) Error() string {
	const most = 8
	text := strings.Join(e.Names[:min(most, len(e.Names))], ", ")
	if more := len(e.Names) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	what := "is part of"
	if e.Beginning {
		what = "begins"
	}
	return fmt.Sprintf("%q %s the names of %d runs: %s: give more of the name", e.Text, what, len(e.Names), text)
}

// FindName returns the name that a person means: the text itself if it is one of the names, or else
// the only one of which it is a part. It returns "" if there is none, and an [AmbiguousError] if
// there are several.
func FindName(text string, names []string) (string, error) {
	return find(names, &AmbiguousError{Text: text}, strings.Contains)
}

// FindBeginning does what [FindName] does, for what can't be undone: the text must be a whole name or
// begin one, since other parts of a name, such as a single digit, often occur in the name of another run.
func FindBeginning(text string, names []string) (string, error) {
	return find(names, &AmbiguousError{Text: text, Beginning: true}, strings.HasPrefix)
}

// find returns the name that is the text of the error or that alone matches it, "" if none does, or the
// error with the names that do.
func find(names []string, several *AmbiguousError, matches func(name, text string) bool) (string, error) {
	if slices.Contains(names, several.Text) {
		return several.Text, nil
	}
	for _, name := range names {
		if matches(name, several.Text) && !slices.Contains(several.Names, name) {
			several.Names = append(several.Names, name)
		}
	}
	switch len(several.Names) {
	case 0:
		return "", nil
	case 1:
		return several.Names[0], nil
	}
	return "", several
}
