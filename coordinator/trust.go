package main

import (
	"github.com/spf13/pflag"

	"nqueens/pkg/cli"
	"nqueens/pkg/run"
	"nqueens/pkg/session"
)

// trustFlags say how a run checks its counts.
type trustFlags struct {
	redundancy int
	spotCheck  string
}

func (o *trustFlags) register(flags *pflag.FlagSet) {
	cli.FlagGroup(flags, "Checks", func(flags *pflag.FlagSet) {
		flags.IntVar(&o.redundancy, "redundancy", 1, "`N` admitted keys must agree on each task, 1 to 5")
		cli.DefaultIs(flags, "redundancy", "that of the run, or 1; none from N = 28 on")
		flags.StringVar(&o.spotCheck, "spot-check", run.AutoSpotCheck.String(), "`SHARE` of the tasks that are counted again, 0% to 100%, or auto: 1% within bounds")
		cli.DefaultIs(flags, "spot-check", run.AutoSpotCheck.String())
	})
}

// checks checks the flags and returns which tasks to check.
func (o *trustFlags) checks() (run.SpotCheck, error) {
	if err := cli.CheckRange("redundancy", o.redundancy, 1, session.MaxRedundancy); err != nil {
		return run.SpotCheck{}, err
	}
	s, err := run.ParseSpotCheck(o.spotCheck)
	if err != nil {
		return s, cli.Usagef("--spot-check must be %w", err)
	}
	return s, nil
}
