package main

import (
	"github.com/spf13/pflag"

	"nqueens/pkg/cli"
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
	flags.StringVar(&o.spotCheck, "spot-check", o.spotCheck, "`SHARE` of the tasks that another key counts again, 0% to 100%")
}

// share checks the flags and returns the share of the tasks to check, 0 to 1.
func (o *trustFlags) share() (float64, error) {
	if err := cli.CheckRange("redundancy", o.redundancy, 1, session.MaxRedundancy); err != nil {
		return 0, err
	}
	return parseShare("spot-check", o.spotCheck)
}
