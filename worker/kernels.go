package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"nqueens/pkg/cli"
	"nqueens/pkg/kernel"
)

func kernelsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "kernels",
		Short: "List the kernels that this machine can run, the fastest (auto) first",
		Args:  cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, k := range kernel.Available() {
				if _, err := fmt.Fprintln(cmd.OutOrStdout(), k.Name); err != nil {
					return err
				}
			}
			return nil
		},
	}
}
