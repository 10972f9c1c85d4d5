package cli

import (
	"fmt"
	"slices"
	"strings"

	"nqueens/pkg/queens"
)

// Enum is a flag that takes one of a few words. Its help lists them, a shell completes
// them, and any other word is a mistake.
type Enum struct {
	value   *string
	allowed []string
	where   string
}

// NewEnum returns a flag for *p, which is value unless it is given. At least two words
// are allowed.
func NewEnum(p *string, value string, allowed ...string) *Enum {
	*p = value
	return &Enum{value: p, allowed: allowed}
}

// WithScope says where these are the words, where they are others elsewhere.
func (c *Enum) WithScope(where string) *Enum {
	c.where = " on " + where
	return c
}

// String returns the word that is chosen.
func (c *Enum) String() string { return *c.value }

// Type is what help shows as the flag's value.
func (c *Enum) Type() string { return strings.Join(c.allowed, "|") }

// Set chooses a word.
func (c *Enum) Set(value string) error {
	if !slices.Contains(c.allowed, value) {
		return fmt.Errorf("must be %s%s, not %q%s", joinOr(c.allowed), c.where, value, didYouMean(value, c.allowed))
	}
	*c.value = value
	return nil
}

// OneOf returns what is wrong with a word of the command line that must be one of a few;
// what names it for the person.
func OneOf(what, value string, allowed ...string) error {
	if err := NewEnum(new(string), "", allowed...).Set(value); err != nil {
		return Usagef("%s %w", what, err)
	}
	return nil
}

// SymmetryFlag is the flag that chooses how a count is cut.
func SymmetryFlag(p *string) *Enum {
	return NewEnum(p, string(queens.Full), string(queens.Full), string(queens.Mirror), string(queens.None))
}

// MaxThreads bounds the threads, and the workers of one thread each, that a person may ask
// for. It is far beyond what any machine has: more is a slip of the keyboard.
const MaxThreads = 4096

// CheckRange returns what is wrong with the number of a flag that must be from least to most.
func CheckRange(flag string, value, least, most int) error {
	if value < least || value > most {
		return Usagef("--%s must be from %d to %d, not %d", flag, least, most, value)
	}
	return nil
}

// joinOr lists words for people: a, b or c.
func joinOr(words []string) string {
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// farthest is the number of letters in which a word may differ from the one that was meant.
const farthest = 2

// didYouMean returns a question for the end of an error, about the word that is nearest to
// the one that was written, or nothing where none is near.
func didYouMean(word string, among []string) string {
	best, nearest := "", farthest+1
	for _, candidate := range among {
		// Of a word that is not longer than what may differ, nothing need be left.
		if d := distance(strings.ToLower(word), candidate); d < nearest && d < len(candidate) && d < len(word) {
			best, nearest = candidate, d
		}
	}
	if best == "" {
		return ""
	}
	return ": did you mean " + best + "?"
}

// distance is the number of letters to put in, take out, change, or swap with their
// neighbour, that lead from one word to the other.
func distance(a, b string) int {
	before, last := make([]int, len(b)+1), make([]int, len(b)+1) // rows i-2 and i-1 of the table
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		row := make([]int, len(b)+1)
		row[0] = i + 1
		for j := range len(b) {
			differ := 1
			if a[i] == b[j] {
				differ = 0
			}
			row[j+1] = min(row[j]+1, last[j+1]+1, last[j]+differ)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}
