package cli

import (
	"errors"
	"os"
	"regexp"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"nqueens/pkg/queens"
)

// envPrefix begins the names of all variables that set flags.
const envPrefix = "NQUEENS_"

// EnvVar returns the environment variable that sets a flag.
func EnvVar(flag string) string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// setByEnv annotates a flag with the environment variable that set it.
const setByEnv = "nqueens_set_by_env"

// fromEnvironment sets each flag that the command line does not from its variable, but not
// --help and --version. An empty variable counts as unset, because Docker Compose passes on
// unset variables so.
func fromEnvironment(flags *pflag.FlagSet) error {
	var failed error
	flags.VisitAll(func(f *pflag.Flag) {
		variable := EnvVar(f.Name)
		value := os.Getenv(variable)
		if value == "" || f.Changed || failed != nil || f.Name == "help" || f.Name == "version" {
			return
		}
		_ = flags.SetAnnotation(f.Name, setByEnv, []string{variable}) // fails only for unknown flags
		if err := flags.Set(f.Name, value); err != nil {
			failed = explainValueError(err)
		}
	})
	return failed
}

// SetByEnvironment reports whether a variable has set a flag, and not the command line.
func SetByEnvironment(f *pflag.Flag) bool { return f.Annotations[setByEnv] != nil }

// warnMisspelt warns of variables that set no flag of any command and are near to one that does. Short
// names are near to many; others may be of another program.
func (a *App) warnMisspelt(root *cobra.Command) {
	const short = 5
	names := flagNames(root)
	for _, setting := range os.Environ() {
		variable, value, _ := strings.Cut(setting, "=")
		suffix, ours := strings.CutPrefix(variable, envPrefix)
		flag := strings.ToLower(strings.ReplaceAll(suffix, "_", "-"))
		if !ours || value == "" || len(flag) <= short {
			continue
		}
		if near := nearest(flag, names); near != "" && near != flag {
			a.Log.Warn().Str("variable", queens.Sanitize(variable)).
				Msg("the variable sets no flag and is ignored: did you mean " + EnvVar(near) + "?")
		}
	}
}

// flagNames returns the names of the flags of a command and of all below it.
func flagNames(cmd *cobra.Command) (names []string) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	cmd.PersistentFlags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	for _, sub := range cmd.Commands() {
		names = append(names, flagNames(sub)...)
	}
	return names
}

// withEnvSource appends to a message which variables set the flags that it names.
func withEnvSource(flags *pflag.FlagSet, text string) string {
	var variables []string
	flags.VisitAll(func(f *pflag.Flag) {
		named := regexp.MustCompile(`--` + regexp.QuoteMeta(f.Name) + `([^a-z-]|$)`)
		if variable, ok := f.Annotations[setByEnv]; ok && named.MatchString(text) {
			variables = append(variables, variable...)
		}
	})
	if len(variables) == 0 {
		return text
	}
	return text + " (set by " + strings.Join(variables, " and ") + ")"
}

// flagError explains an error of pflag, and suggests a flag for an unknown one.
func flagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return explainValueError(err)
	}
	name := unknown.GetSpecifiedName()
	if letters := unknown.GetSpecifiedShortnames(); letters != "" {
		if _, notNumber := strconv.Atoi(letters); notNumber == nil { // a negative number looks like a flag
			return Usagef("N must be a whole number from 1 to %d, not -%s", queens.MaxN, letters)
		}
		if letters == "n" {
			return Usagef("%w: N is an argument, as in %s 8", err, cmd.CommandPath())
		}
		name = letters
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, "--"+f.Name) })
	return Usagef("%w%s", err, didYouMean("--"+name, names))
}

// valueNames says what the value of a flag must be, by its type in pflag.
var valueNames = map[string]string{
	"int":      "a whole number",
	"uint64":   "a whole number from 0",
	"float64":  "a number",
	"bool":     "true or false",
	"duration": "a duration, such as 90s or 5m",
}

// explainValueError says what a flag's value must be, where pflag says how parsing failed.
func explainValueError(err error) error {
	var invalid *pflag.InvalidValueError
	if !errors.As(err, &invalid) {
		return usageError{err}
	}
	flag := invalid.GetFlag()
	must, ok := valueNames[flag.Value.Type()]
	if !ok {
		return Usagef("--%s %w", flag.Name, errors.Unwrap(invalid))
	}
	if errors.Is(err, strconv.ErrRange) {
		must += " that is not so large"
	}
	return Usagef("--%s must be %s, not %q", flag.Name, must, invalid.GetValue())
}
