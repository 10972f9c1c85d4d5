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
	spotCheck  string // its default, before register
}

func (o *trustFlags) register(flags *pflag.FlagSet) {
	flags.IntVar(&o.redundancy, "redundancy", 1, "`N` admitted keys must agree on each task, 1 to 5; who has the join token can make several keys: "+
		"keys add gives each owner one")
	flags.StringVar(&o.spotCheck, "spot-check", o.spotCheck, "which tasks another key counts again: a `SHARE`, 0% to 100%, or auto: 1% within bounds")
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
