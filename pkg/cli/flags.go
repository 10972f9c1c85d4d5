package cli

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"nqueens/pkg/queens"
)

// EnvVar is the variable of the environment that stands for a flag.
func EnvVar(flag string) string {
	return "NQUEENS_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// fromVariable marks a flag that has its value from the environment.
const fromVariable = "nqueens_from_variable"

// fromEnvironment sets each flag that was not given from NQUEENS_<NAME>; not help
// and version, which are commands in the shape of flags. An empty variable is none: so
// those who start containers pass on what is not set.
func fromEnvironment(flags *pflag.FlagSet) error {
	var failed error
	flags.VisitAll(func(f *pflag.Flag) {
		variable := EnvVar(f.Name)
		value := os.Getenv(variable)
		if value == "" || f.Changed || failed != nil || f.Name == "help" || f.Name == "version" {
			return
		}
		_ = flags.SetAnnotation(f.Name, fromVariable, []string{variable}) // the flag is there
		if err := flags.Set(f.Name, value); err != nil {
			failed = explainValueError(err)
		}
	})
	return failed
}

// withEnvSource adds to what is said of flags from which variables they have their values.
func withEnvSource(flags *pflag.FlagSet, text string) string {
	var variables []string
	flags.VisitAll(func(f *pflag.Flag) {
		named := regexp.MustCompile(`--` + regexp.QuoteMeta(f.Name) + `([^a-z-]|$)`)
		if variable, ok := f.Annotations[fromVariable]; ok && named.MatchString(text) {
			variables = append(variables, variable...)
		}
	})
	if len(variables) == 0 {
		return text
	}
	return text + " (set by " + strings.Join(variables, " and ") + ")"
}

// flagError says of a flag what is wrong with it, and what may have been meant.
func flagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return explainValueError(err)
	}
	if letters := unknown.GetSpecifiedShortnames(); letters != "" {
		// A negative number looks like a flag.
		if _, notNumber := strconv.Atoi(letters); notNumber == nil {
			return Usagef("N must be a whole number from 1 to %d, not -%s", queens.MaxN, letters)
		}
		return Usagef("%v%s", err, didYouMean("--"+letters, flagNames(cmd)))
	}
	return Usagef("%v%s", err, didYouMean("--"+unknown.GetSpecifiedName(), flagNames(cmd)))
}

// flagNames returns the flags of a command as they are written.
func flagNames(cmd *cobra.Command) (names []string) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, "--"+f.Name) })
	return names
}

// explainValueError says what a flag's value must be, where pflag says how its parser failed.
func explainValueError(err error) error {
	var invalid *pflag.InvalidValueError
	if !errors.As(err, &invalid) {
		return usageError{err}
	}
	flag, must := invalid.GetFlag(), ""
	switch flag.Value.Type() {
	case "int":
		must = "a whole number"
	case "uint64":
		must = "a whole number from 0"
	case "float64":
		must = "a number"
	case "bool":
		must = "true or false"
	case "duration":
		must = "a duration, such as 90s or 5m"
	default:
		return Usagef("--%s %w", flag.Name, errors.Unwrap(invalid))
	}
	if errors.Is(err, strconv.ErrRange) {
		must += " that is not so large"
	}
	return usageError{fmt.Errorf("--%s must be %s, not %q", flag.Name, must, invalid.GetValue())}
}
