package main

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"nqueens/pkg/bus"
	"nqueens/pkg/cli"
	"nqueens/pkg/queens"
	"nqueens/pkg/runs"
)

// dataFlag is --data: the folder of the runs on this machine.
type dataFlag struct{ path string }

func (d *dataFlag) register(flags *pflag.FlagSet) {
	flags.StringVar(&d.path, "data", "", "`DIR` of the runs on this machine (default $XDG_STATE_HOME/nqueens)")
	_ = cobra.MarkFlagDirname(flags, "data") // fails only for unknown flags
}

// commonFlags registers the flags that commands share; server may be nil.
func commonFlags(flags *pflag.FlagSet, server *bus.Flags, data *dataFlag) {
	cli.FlagGroup(flags, cli.Common, func(flags *pflag.FlagSet) {
		if server != nil {
			server.Register(flags, "the NATS server at this `URL`, or several, with commas")
		}
		data.register(flags)
	})
}

// open returns the store in that folder, which need not exist.
func (d *dataFlag) open() (*runs.Store, error) { return runs.NewStore(d.path) }

// command returns what to type to start a command of this program with the same folder.
func (d *dataFlag) command(words ...string) string {
	if d.path != "" {
		words = append(words, "--data", d.path)
	}
	return commandLine(words...)
}

// completeRun completes the name of a run on this machine, the newest first, with its state.
func (d *dataFlag) completeRun(_ *cobra.Command, _ []string, prefix string) (names []cobra.Completion, _ cobra.ShellCompDirective) {
	const directive = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	store, err := d.open()
	if err != nil {
		return nil, directive
	}
	list, _ := store.List() // if they can't be listed, none completes the name
	for i := range list {
		if r := &list[i]; strings.HasPrefix(r.Name, prefix) {
			names = append(names, cobra.CompletionWithDesc(r.Name, r.Status()))
		}
	}
	return names, directive
}

// oneRun is the [cobra.Command.Args] of commands that take the name of a run, or its beginning.
func oneRun(_ *cobra.Command, args []string) error {
	if len(args) != 1 {
		return cli.Usagef("takes one argument, the name of a run or its beginning, not %d: coordinator runs lists the runs", len(args))
	}
	return checkRun(args[0])
}

// oneRunOrNone is the [cobra.Command.Args] of commands that take the name of a run, or choose one.
func oneRunOrNone(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return oneRun(cmd, args)
}

func checkRun(name string) error {
	if err := queens.ValidateRun(name); err != nil {
		return cli.Usagef("%w: coordinator runs lists the runs", err)
	}
	return nil
}

// placeFlag is --place: the queens placed beforehand, as a person writes them.
type placeFlag []string

func (p *placeFlag) register(flags *pflag.FlagSet) {
	flags.StringArrayVar((*[]string)(p), "place", nil, "put a queen on `ROW,COLUMN` beforehand, from 0,0 at the top left; repeatable")
}

// squares returns the squares on a board of side n, sorted. A value may have several, since the environment has room for one
// value only.
func (p placeFlag) squares(n int) ([]queens.Square, error) {
	squares, err := queens.ParsePlaced(n, p...)
	if err != nil {
		return nil, cli.Usagef("--place: %w", err)
	}
	return squares, nil
}
