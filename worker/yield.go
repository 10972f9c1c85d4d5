package main

import (
	"github.com/spf13/pflag"

	"nqueens/pkg/cli"
	"nqueens/pkg/yield"
)

// yieldFlags say when the worker leaves the machine to its users.
type yieldFlags struct{ hours, above, battery string }

func (o *yieldFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&o.hours, "hours", "", "count only in these `HOURS`, such as \"22:00-06:00, sat-sun 00:00-24:00 Europe/Berlin\"")
	flags.StringVar(&o.above, "pause-above", "", "pause while other programs use more than this `PERCENTAGE` of the CPU")
	flags.Var(cli.NewEnum(&o.battery, "count", "count", "pause"), "on-battery", "what to do on battery")
}

// pause returns the function that says why the worker pauses, nil if it never does.
func (o *yieldFlags) pause() (pause func() (reason string), err error) {
	p := yield.Policy{Battery: o.battery == "pause"}
	if o.hours != "" {
		if p.Hours, err = yield.ParseHours(o.hours); err != nil {
			return nil, cli.Usagef("--hours: %w", err)
		}
	}
	if o.above != "" {
		if p.Above, err = yield.ParseAbove(o.above); err != nil {
			return nil, cli.Usagef("--pause-above %w", err)
		}
	}
	if p == (yield.Policy{}) {
		return nil, nil
	}
	if pause, err = p.OnThisMachine(); err != nil {
		return nil, cli.Usagef("--pause-above or --on-battery: %w", err)
	}
	return pause, nil
}
