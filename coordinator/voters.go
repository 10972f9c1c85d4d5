package main

import (
	"errors"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"nqueens/pkg/cli"
	"nqueens/pkg/humanize"
	"nqueens/pkg/keyring"
	"nqueens/pkg/session"
)

// setting is a flag of a command line with its value.
type setting struct{ flag, value string }

// withCommands adds to an error that says that a run can't start as its command line has it which command
// lines can: then it is one of the command line. The words are those of the command, without flags.
func (o *sessionFlags) withCommands(cmd *cobra.Command, err error, words ...string) error {
	var voters *session.VotersError
	one := setting{"redundancy", "1"}
	switch {
	case errors.Is(err, session.ErrRedundancy):
		return cli.Usagef("--redundancy must be given, since %w: two keys count each task, in twice the core time, with: %s; one key does with: %s",
			err, o.commandLine(cmd, words, append(o.admitting(), setting{"redundancy", "2"})...), o.commandLine(cmd, words, one))
	case !errors.As(err, &voters):
		return withHint(err)
	}
	how := "workers with keys of their own can join with"
	if voters.Server {
		how = "a file can list their public keys, which worker --public-key prints; or --nkey can be the key of a folder of keys, " +
			"see coordinator keys init --help; with the file it is"
	}
	instead := o.commandLine(cmd, words, one)
	if voters.Run != "" {
		instead = restartCommand(&voters.Manifest) + " " + humanize.ShellWords(append([]string{"--redundancy", "1"}, o.data.words()...)...)
	}
	return cli.Usagef("--redundancy: %w: %s: %s; another count, with one key for each task, starts with: %s",
		err, how, o.commandLine(cmd, words, o.admitting()...), instead)
}

// admitting returns the settings that the flags lack for workers of other processes to be admitted.
func (o *sessionFlags) admitting() []setting {
	switch {
	case o.nats.URL == "" && o.listen == "":
		return []setting{{"listen", "0.0.0.0:4222"}}
	case o.nats.URL != "" && admission(o.nats, o.admitted) == (keyring.Sources{}):
		return []setting{{"admitted", "FILE"}}
	}
	return nil
}

// commandLine returns a command line with the flags that were given, except for these settings. It has no
// flags that the environment sets, and no passwords.
func (o *sessionFlags) commandLine(cmd *cobra.Command, words []string, settings ...setting) string {
	words = append(cli.Program(), words...)
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if cli.SetByEnvironment(f) || slices.ContainsFunc(settings, func(s setting) bool { return s.flag == f.Name }) {
			return
		}
		values := []string{f.Value.String()}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		for _, value := range values {
			if f.Name == "nats" {
				value = withoutUsers(value)
			}
			words = append(words, cli.FlagWords(f, value)...)
		}
	})
	for _, s := range settings {
		words = append(words, "--"+s.flag, s.value)
	}
	return humanize.ShellWords(words...)
}
