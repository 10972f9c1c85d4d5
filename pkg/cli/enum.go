package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"nqueens/pkg/queens"
)

// Enum is a flag whose value is one of a few words. The help lists them, and shells
// complete them.
type Enum struct {
	value   *string
	allowed []string
	scope   string
}

// NewEnum returns a flag that stores its value, by default the one given, in *p. There must
// be at least two words.
func NewEnum(p *string, value string, allowed ...string) *Enum {
	*p = value
	return &Enum{value: p, allowed: allowed}
}

// WithScope adds to errors where these are the words, if they are others elsewhere.
func (e *Enum) WithScope(where string) *Enum {
	e.scope = " on " + where
	return e
}

// String returns the value.
func (e *Enum) String() string { return *e.value }

// Type returns the words, which the help shows as the name of the flag's value.
func (e *Enum) Type() string { return strings.Join(e.allowed, "|") }

// Set sets the value.
func (e *Enum) Set(value string) error {
	if !slices.Contains(e.allowed, value) {
		last := len(e.allowed) - 1
		return fmt.Errorf("must be %s or %s%s, not %q%s",
			strings.Join(e.allowed[:last], ", "), e.allowed[last], e.scope, value, didYouMean(value, e.allowed))
	}
	*e.value = value
	return nil
}

// SymmetryFlag returns the flag that selects the symmetry of a count.
func SymmetryFlag(p *string) *Enum {
	return NewEnum(p, string(queens.Full), string(queens.Full), string(queens.Mirror), string(queens.None))
}

// MaxThreads is the greatest number of threads, and of workers of one thread each, that
// flags accept. It is far beyond any machine: more is a typing error.
const MaxThreads = 4096

// DefaultIs says in help what the default of a flag is, in words.
func DefaultIs(flags *pflag.FlagSet, name, words string) { flags.Lookup(name).DefValue = words }

// OnePerCore is the default of flags for numbers of threads, whatever number that is on this machine.
const OnePerCore = "one for each core"

// CheckRange validates the number of a flag, which must be from low to high.
func CheckRange(flag string, value, low, high int) error {
	if value < low || value > high {
		return Usagef("--%s must be from %d to %d, not %d", flag, low, high, value)
	}
	return nil
}
