package cli

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"nqueens/pkg/queens"
)

// envPrefix begins the names of the environment variables that set flags.
const envPrefix = "NQUEENS_"

// EnvVar returns the environment variable that sets a flag.
func EnvVar(flag string) string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// setByEnv is the key of the annotation that names the environment variable that set a flag.
const setByEnv = "nqueens_set_by_env"

// fromEnvironment sets each flag from its variable, unless the command line sets the flag. It never
// sets --help or --version. An empty variable counts as unset, because Docker Compose makes ${NAME}
// empty if NAME is unset.
func fromEnvironment(flags *pflag.FlagSet) error {
	var failed error
	flags.VisitAll(func(f *pflag.Flag) {
		value := os.Getenv(EnvVar(f.Name))
		if value == "" || f.Changed || failed != nil || f.Name == "help" || f.Name == "version" {
			return
		}
		// fails only for unknown flags
		_ = flags.SetAnnotation(f.Name, setByEnv, []string{EnvVar(f.Name)})
		if err := flags.Set(f.Name, value); err != nil {
			failed = Usagef("%w (set by %s)", explain(err), EnvVar(f.Name))
		}
	})
	return failed
}

// misspelled returns, for each variable in an environment that no flag of these commands has, but
// whose name is close to that of a flag's variable, the two names. Other variables may be for the
// other program.
func misspelled(environment []string, commands ...*cobra.Command) (pairs [][2]string) {
	known := make(map[string]bool)
	for _, c := range commands {
		c.Flags().VisitAll(func(f *pflag.Flag) { known[EnvVar(f.Name)] = true })
		c.PersistentFlags().VisitAll(func(f *pflag.Flag) { known[EnvVar(f.Name)] = true })
	}
	for _, variable := range slices.Sorted(slices.Values(environment)) {
		name, value, _ := strings.Cut(variable, "=")
		if value == "" || known[name] || !strings.HasPrefix(strings.ToUpper(name), envPrefix) {
			continue
		}
		for _, right := range slices.Sorted(maps.Keys(known)) {
			if isClose(letters(name), letters(right)) {
				pairs = append(pairs, [2]string{name, right})
				break
			}
		}
	}
	return pairs
}

// letters returns the letters of a variable's name in capitals, without its prefix.
func letters(name string) string {
	name = strings.TrimPrefix(strings.ToUpper(name), envPrefix)
	return strings.NewReplacer("_", "", "-", "").Replace(name)
}

// isClose reports whether two words are equal, or differ in one letter of at least five: one is
// wrong, missing, too many, or changed places with the next.
func isClose(a, b string) bool {
	if a == b || min(len(a), len(b)) < 5 {
		return a == b
	}
	first := 0
	for first < min(len(a), len(b)) && a[first] == b[first] {
		first++
	}
	a, b = a[first:], b[first:]
	last := 0
	for last < min(len(a), len(b)) && a[len(a)-1-last] == b[len(b)-1-last] {
		last++
	}
	a, b = a[:len(a)-last], b[:len(b)-last]
	return max(len(a), len(b)) <= 1 || len(a) == 2 && len(b) == 2 && a[0] == b[1] && a[1] == b[0]
}

// SetByEnvironment reports whether a variable, and not the command line, has set a flag.
func SetByEnvironment(f *pflag.Flag) bool { return f.Annotations[setByEnv] != nil }

// explain returns an error that says what is wrong with a flag. The errors of pflag only say how
// parsing failed.
func explain(err error) error {
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) {
		if letters := unknown.GetSpecifiedShortnames(); letters != "" &&
			strings.Trim(letters, "0123456789") == "" {
			// -3 looks like a flag
			return Usagef("N must be a whole number from 1 to %d, not -%s", queens.MaxN, letters)
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

// valueNames says what the value of a flag must be, by its type in pflag.
var valueNames = map[string]string{"bool": "true or false", "uint": "a whole number from 0"}

// Checked registers a flag. The given function stores a value, or returns an error that says what
// the value must be. Checked calls it with the default value, and parsing calls it with each value
// that is given.
func Checked(
	flags *pflag.FlagSet, name, value, usage string, set func(text string) error,
) *pflag.Flag {
	c := &checked{set: set}
	_ = c.Set(value) // a default is valid
	return flags.VarPF(c, name, "", usage)
}

// checked is the value of a flag that [Checked] registers.
type checked struct {
	text   string
	set    func(text string) error
	values string // the values as help shows them; empty if the usage names the value
}

func (c *checked) String() string { return c.text }
func (c *checked) Type() string   { return c.values }

func (c *checked) Set(text string) error {
	c.text = text
	return c.set(text)
}

// Enum registers a flag whose value is one of at least two words. Help lists them.
func Enum(flags *pflag.FlagSet, p *string, name, value, usage string, words ...string) {
	flag := Checked(flags, name, value, usage, func(text string) error {
		if last := len(words) - 1; !slices.Contains(words, text) {
			return fmt.Errorf("must be %s or %s, not %q", strings.Join(words[:last], ", "), words[last],
				text)
		}
		*p = text
		return nil
	})
	flag.Value.(*checked).values = strings.Join(words, "|")
}

// Symmetry registers the flag that selects the symmetry of a count.
func Symmetry(flags *pflag.FlagSet, p *string, usage string) {
	Enum(flags, p, "symmetry", string(queens.Full), usage, string(queens.Full), string(queens.Mirror),
		string(queens.None))
}

// Method registers the flag that selects the method of a count.
func Method(flags *pflag.FlagSet, p *string, usage string) {
	Enum(flags, p, "method", string(queens.Prefixes), usage, string(queens.Prefixes),
		string(queens.Halves))
}

// Int registers a flag whose value is a whole number in a range. Help says the range.
func Int(
	flags *pflag.FlagSet, p *int, name string, value, low, high int, usage string,
) *pflag.Flag {
	usage = fmt.Sprintf("%s, %d to %d", usage, low, high)
	return Checked(flags, name, strconv.Itoa(value), usage, func(text string) (err error) {
		*p, err = wholeNumber(text, low, high)
		return err
	})
}

func wholeNumber(text string, low, high int) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < low || n > high {
		return 0, fmt.Errorf("must be a whole number from %d to %d, not %q", low, high, text)
	}
	return n, nil
}

// MaxThreads is the greatest number of threads that flags accept for a process. A greater number is
// taken for a typing error.
const MaxThreads = 4096

// Threads registers a flag for a number of threads, by default one for each core.
func Threads(flags *pflag.FlagSet, p *int, name string, low, high int, usage string) *pflag.Flag {
	flag := Int(flags, p, name, Cores(), low, high, usage)
	flag.DefValue = "one for each core" // so help is the same on every machine
	return flag
}

// Duration registers a flag for a time of up to a hundred years, by default 0. The time may be in
// days.
func Duration(flags *pflag.FlagSet, p *time.Duration, name, usage string) {
	Checked(flags, name, "0", usage, func(text string) error {
		times := int64(1)
		number, isDays := strings.CutSuffix(text, "d")
		if isDays {
			number, times = number+"h", 24
		}
		d, err := time.ParseDuration(number)
		if err != nil || d < 0 || int64(d) > int64(100*365*24*time.Hour)/times {
			return fmt.Errorf("must be a time such as 90s, 5m, 12h or 30d, not %.80q", text)
		}
		*p = time.Duration(int64(d) * times)
		return nil
	})
}

// Bytes registers a flag for a size in bytes, by default 0. The size may have a unit, such as 2GB.
func Bytes(flags *pflag.FlagSet, p *uint64, name, usage string) {
	Checked(flags, name, "0", usage, func(text string) error {
		number, unit := text, uint64(1)
		for i, suffix := range []string{"kB", "MB", "GB", "TB"} {
			if before, has := strings.CutSuffix(text, suffix); has {
				number, unit = before, uint64(math.Pow10(3*(i+1)))
			}
		}
		size, err := strconv.ParseUint(number, 10, 64)
		if err != nil || size > math.MaxInt64/unit {
			return fmt.Errorf("must be a size such as 500MB or 2GB, not %.80q", text)
		}
		*p = size * unit
		return nil
	})
}

// Address registers a flag for a host:port. The value or its host may be empty. Errors contain the
// example.
func Address(flags *pflag.FlagSet, p *string, name, value, usage, example string) {
	Checked(flags, name, value, usage, func(text string) error {
		host, port, err := net.SplitHostPort(text)
		_, notPort := strconv.ParseUint(port, 10, 16)
		if text != "" && (err != nil || notPort != nil || strings.ContainsAny(host, " \t\n/@")) {
			return fmt.Errorf("must be host:port, such as %s, not %q", example, text)
		}
		*p = text
		return nil
	})
}

// ParseN parses the argument N of a command, the side of the board.
func ParseN(text string) (int, error) {
	n, err := wholeNumber(text, 1, queens.MaxN)
	if err != nil {
		return 0, Usagef("N %w", err)
	}
	return n, nil
}

// Arguments returns a function that checks the number of arguments against two bounds. Its error
// says what the command takes.
func Arguments(least, most int, what string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) < least || len(args) > most {
			return Usagef("takes %s, not %d arguments", what, len(args))
		}
		return nil
	}
}
