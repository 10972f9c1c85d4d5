package cli

import (
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"nqueens/pkg/queens"
)

// EnvVar returns the environment variable that sets a flag.
func EnvVar(flag string) string {
	return "NQUEENS_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// setByEnv annotates a flag with the environment variable that set it.
const setByEnv = "nqueens_set_by_env"

// fromEnvironment sets each flag that the command line does not set from its variable, but not --help and --version. An empty
// variable counts as unset, because Docker Compose passes on unset variables so.
func fromEnvironment(flags *pflag.FlagSet) error {
	var failed error
	flags.VisitAll(func(f *pflag.Flag) {
		value := os.Getenv(EnvVar(f.Name))
		if value == "" || f.Changed || failed != nil || f.Name == "help" || f.Name == "version" {
			return
		}
		_ = flags.SetAnnotation(f.Name, setByEnv, []string{EnvVar(f.Name)}) // fails only for unknown flags
		if err := flags.Set(f.Name, value); err != nil {
			failed = usageError{explain(err)}
		}
	})
	return failed
}

// SetByEnvironment reports whether a variable has set a flag, and not the command line.
func SetByEnvironment(f *pflag.Flag) bool { return f.Annotations[setByEnv] != nil }

// environmentOf says which variables set the flags that a text names.
func environmentOf(flags *pflag.FlagSet, text string) string {
	var variables []string
	flags.VisitAll(func(f *pflag.Flag) {
		if SetByEnvironment(f) && slices.Contains(strings.FieldsFunc(text, notInFlag), "--"+f.Name) {
			variables = append(variables, EnvVar(f.Name))
		}
	})
	if len(variables) == 0 {
		return ""
	}
	return " (set by " + strings.Join(variables, " and ") + ")"
}

func notInFlag(r rune) bool { return r != '-' && (r < 'a' || r > 'z') }

// valueNames says what the value of a flag must be, by its type in pflag.
var valueNames = map[string]string{
	"int": "a whole number", "uint64": "a whole number from 0", "bool": "true or false", "duration": "a duration, such as 90s or 5m",
}

// explain says what is wrong with a flag, where pflag says how parsing failed.
func explain(err error) error {
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) {
		if letters := unknown.GetSpecifiedShortnames(); letters != "" && strings.Trim(letters, "0123456789") == "" {
			return Usagef("N must be a whole number from 1 to %d, not -%s", queens.MaxN, letters) // it looks like a flag
		}
		return fmt.Errorf("%w: --help lists the flags", err)
	}
	var invalid *pflag.InvalidValueError
	if !errors.As(err, &invalid) {
		return err
	}
	flag := invalid.GetFlag()
	if must, ok := valueNames[flag.Value.Type()]; ok {
		return fmt.Errorf("--%s must be %s, not %q", flag.Name, must, invalid.GetValue())
	}
	return fmt.Errorf("--%s %w", flag.Name, errors.Unwrap(invalid))
}

// Enum is a flag whose value is one of a few words. The help lists them.
type Enum struct {
	value   *string
	allowed []string
}

// NewEnum returns a flag that stores its value, by default the one given, in *p. There must be at least two words.
func NewEnum(p *string, value string, allowed ...string) *Enum {
	*p = value
	return &Enum{value: p, allowed: allowed}
}

// String returns the value.
func (e *Enum) String() string { return *e.value }

// Type returns the words, which the help shows as the name of the flag's value.
func (e *Enum) Type() string { return strings.Join(e.allowed, "|") }

// Set sets the value.
func (e *Enum) Set(value string) error {
	if !slices.Contains(e.allowed, value) {
		last := len(e.allowed) - 1
		return fmt.Errorf("must be %s or %s, not %q", strings.Join(e.allowed[:last], ", "), e.allowed[last], value)
	}
	*e.value = value
	return nil
}

// SymmetryFlag returns the flag that selects the symmetry of a count.
func SymmetryFlag(p *string) *Enum {
	return NewEnum(p, string(queens.Full), string(queens.Full), string(queens.Mirror), string(queens.None))
}

// MaxThreads is the greatest number of threads that flags accept. It is far beyond any machine: more is a typing error.
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

// ParseShare parses a percentage from 0% to 100%, or a number from 0 up to, but not including, 1. Whether 1 is 1% or all
// would not be clear.
func ParseShare(flag, text string) (float64, error) {
	number, percent := strings.CutSuffix(text, "%")
	share, err := strconv.ParseFloat(number, 64)
	if percent {
		share /= 100
	}
	if err != nil || !(share >= 0 && share <= 1) || !percent && share == 1 {
		return 0, Usagef("--%s must be a share from 0%% to 100%%, such as 1%%, not %q", flag, text)
	}
	return share, nil
}

// CheckAddress validates the host:port of a flag on which to listen; its error gives the example. An empty address is valid.
func CheckAddress(flag, address, example string) error {
	if address == "" {
		return nil
	}
	host, port, err := net.SplitHostPort(address)
	if _, notPort := strconv.ParseUint(port, 10, 16); err != nil || notPort != nil || strings.ContainsAny(host, " \t\n/@") {
		return Usagef("--%s must be host:port, such as %s, not %q", flag, example, address)
	}
	return nil
}

// ParseN parses the only argument of a command, N: the side of the board.
func ParseN(args []string) (int, error) {
	if len(args) != 1 {
		return 0, Usagef("takes one argument, the side N of the board, from 1 to %d, not %d: %q", queens.MaxN, len(args), args)
	}
	n, err := strconv.Atoi(args[0])
	if err != nil || queens.ValidateN(n) != nil {
		return 0, Usagef("N must be a whole number from 1 to %d, not %q", queens.MaxN, args[0])
	}
	return n, nil
}

// NoArguments is the [cobra.Command.Args] of commands without arguments. Where a subcommand may be meant, its error
// suggests one.
func NoArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	cmd.SuggestionsMinimumDistance = 2
	if found := cmd.SuggestionsFor(args[0]); len(found) > 0 {
		return Usagef("unknown command or argument %q: did you mean %s?", args[0], found[0])
	}
	return Usagef("unknown command or argument %q: see %s --help", args[0], cmd.CommandPath())
}
