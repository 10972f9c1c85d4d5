package main

import (
	"strings"

	"github.com/spf13/cobra"

	"nqueens/pkg/cli"
	"nqueens/pkg/kernel"
)

// kernelChoice is the flag that chooses among the kernels of this machine.
func kernelChoice(p *string, value string) *cli.Choice {
	return cli.NewChoice(p, value, kernel.Names()...).WithScope("this machine")
}

// completeRun completes the name of a run of this machine, the newest first, with its state.
func (d *dataFolder) completeRun(_ *cobra.Command, args []string, begin string) ([]cobra.Completion, cobra.ShellCompDirective) {
	const directive = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	if len(args) > 0 || d.open() != nil {
		return nil, directive
	}
	runs, err := d.runs()
	if err != nil {
		return nil, directive
	}
	var names []cobra.Completion
	for i := range runs {
		if strings.HasPrefix(runs[i].run, begin) {
			names = append(names, cobra.CompletionWithDesc(runs[i].run, runs[i].shown()))
		}
	}
	return names, directive
}
