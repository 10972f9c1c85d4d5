package main

import (
	"errors"
	"path/filepath"
	"strings"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"nqueens/pkg/bus"
	"nqueens/pkg/cli"
	"nqueens/pkg/kernel"
	"nqueens/pkg/keyring"
	"nqueens/pkg/queens"
	"nqueens/pkg/runstore"
)

// wattsFlag is --watts-per-thread: the power by which searches have an energy.
type wattsFlag float64

func (w *wattsFlag) register(flags *pflag.FlagSet) {
	flags.Float64Var((*float64)(w), "watts-per-thread", 0, "with `N` watts, also give the energy")
}

// check returns an error if no thread takes that power.
func (w wattsFlag) check() error {
	if !(w >= 0 && w <= 1e4) {
		return cli.Usagef("--watts-per-thread must be from 0 to 10000, not %g", float64(w))
	}
	return nil
}

// kWh returns the energy of core-hours in kilowatt-hours.
func (w wattsFlag) kWh(coreHours float64) float64 { return coreHours * float64(w) / 1000 }

// dataFlag is --data: the folder of the runs on this machine.
type dataFlag struct{ path string }

func (d *dataFlag) register(flags *pflag.FlagSet) {
	flags.StringVar(&d.path, "data", "", "`DIR` of the runs on this machine (default $XDG_STATE_HOME/nqueens)")
	_ = cobra.MarkFlagDirname(flags, "data") // fails only for unknown flags
}

// open returns the store in that folder, which need not exist.
func (d *dataFlag) open(log zerolog.Logger) (*runstore.Store, error) {
	store, err := runstore.New(d.path, log)
	if errors.Is(err, runstore.ErrNotFolder) {
		return nil, cli.Usagef("--data: %w: move that file away, or name another folder", err)
	}
	return store, withHint(err)
}

// find returns the store in that folder, and the name of the run in it that the beginning of its name names.
func (d *dataFlag) find(log zerolog.Logger, beginning string) (store *runstore.Store, name string, err error) {
	if store, err = d.open(log); err != nil {
		return nil, "", err
	}
	name, err = store.Find(beginning)
	return store, name, withHint(err)
}

// completeRun completes the name of a run on this machine, the newest first, with its state.
func (d *dataFlag) completeRun(
	_ *cobra.Command, args []string, prefix string,
) ([]cobra.Completion, cobra.ShellCompDirective) {
	const directive = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	store, err := d.open(zerolog.Nop())
	if len(args) > 0 || err != nil {
		return nil, directive
	}
	runs, _ := store.List() // if they can't be listed, none completes the name
	var names []cobra.Completion
	for _, r := range runs {
		if strings.HasPrefix(r.Run, prefix) {
			names = append(names, cobra.CompletionWithDesc(r.Run, r.Status()))
		}
	}
	return names, directive
}

// completeRuns completes the names of any number of runs.
func (d *dataFlag) completeRuns(
	cmd *cobra.Command, _ []string, prefix string,
) ([]cobra.Completion, cobra.ShellCompDirective) {
	return d.completeRun(cmd, nil, prefix)
}

// completeRunAndFile completes the name of a run, and after it that of a file.
func (d *dataFlag) completeRunAndFile(
	cmd *cobra.Command, args []string, prefix string,
) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) == 1 {
		return cli.CompleteFiles(cmd, args, prefix)
	}
	return d.completeRun(cmd, args, prefix)
}

// oneRun is the [cobra.Command.Args] of commands that take the name of a run, or its beginning.
func oneRun(cmd *cobra.Command, args []string) error {
	const help = "coordinator runs lists the runs"
	if err := cli.Arguments(help, "the name of a run")(cmd, args); err != nil {
		return err
	}
	if err := queens.ValidateRun(args[0]); err != nil {
		return cli.Usagef("%w: %s", err, help)
	}
	return nil
}

// oneRunOrNone is the [cobra.Command.Args] of commands that take the name of a run, or choose one.
func oneRunOrNone(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return oneRun(cmd, args)
}

// placeFlag is --place: the queens placed beforehand, as a person writes them.
type placeFlag []string

func (p *placeFlag) register(flags *pflag.FlagSet) {
	flags.StringArrayVar((*[]string)(p), "place", nil, "put a queen on this `SQUARE` beforehand: "+
		"row,column from 0 at the top left, or d8 up to N = 26; may be repeated")
}

// squares returns the squares on a board of side n, sorted. A value may have several, since
// the environment has room for one value only.
func (p placeFlag) squares(n int) ([]queens.Square, error) {
	for _, text := range p {
		if strings.TrimSpace(text) == "" {
			return nil, cli.Usagef("--place needs a square, such as 0,3")
		}
	}
	squares, err := queens.ParsePlaced(n, p...)
	if err != nil {
		return nil, cli.Usagef("--place: %w", err)
	}
	return squares, nil
}

// kernelFlag is the flag that chooses among the kernels of this machine's CPU.
func kernelFlag(p *string, value string) *cli.Enum {
	return cli.NewEnum(p, value, kernel.Names()...).WithScope("this machine")
}

// credentials returns what a connection shows to its server.
func credentials(c *cli.Connection) bus.Credentials {
	return bus.Credentials{Identity: c.Identity, Token: c.Token.Secret, Creds: c.Creds, TLS: c.TLS}
}

// admission returns where the coordinator of an outside server learns which of its workers are admitted: in a
// list; and in the folder of the coordinator's key, if it is a folder of keys, or by the token with which
// it connects. That of an embedded server has a folder of keys and a token anyway.
func admission(c *cli.Connection, list string) keyring.Sources {
	from := keyring.Sources{List: list}
	if c.URL == "" {
		return from
	}
	from.TokenFile = c.TokenFile
	if dir := filepath.Dir(c.NKey); c.NKey != "" && keyring.IsFolder(dir) {
		from.Folder = dir
	}
	return from
}
