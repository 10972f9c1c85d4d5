package main

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"nqueens/pkg/cli"
	"nqueens/pkg/kernel"
)

// kernelReport is what kernels prints for each kernel.
type kernelReport struct {
	Kernel string `json:"kernel"`
	Auto   bool   `json:"auto"` // --kernel auto selects it
}

func kernelsCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "kernels",
		Short: "List the kernels that this machine can run, the fastest (auto) first",
		Long: `List the kernels, the implementations of the search, that this machine can run. The first
is the fastest: --kernel auto selects it. The kernel generic runs on any machine.`,
		Example: `  worker kernels
  worker kernels --json`,
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			out := cmd.OutOrStdout()
			for i, k := range kernel.Available() {
				var err error
				if asJSON {
					err = json.NewEncoder(out).Encode(kernelReport{Kernel: k.Name, Auto: i == 0})
				} else {
					_, err = fmt.Fprintln(out, k.Name)
				}
				if err != nil {
					return err
				}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON object a line")
	return cmd
}
