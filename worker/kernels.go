package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"nqueens/pkg/cli"
	"nqueens/pkg/humanize"
	"nqueens/pkg/kernel"
	"nqueens/pkg/kernel/opencl"
	"nqueens/pkg/report"
)

// listedKernel is what the command kernels prints for each kernel.
type listedKernel struct {
	Kernel        string `json:"kernel"` // its name, for --kernel
	Auto          bool   `json:"auto"`   // whether --kernel auto selects it
	opencl.Device        // only for a kernel that runs on a device
}

func kernelsCommand(app *cli.App) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "kernels",
		Short: "List the kernels that this machine can run, the fastest first",
		Long: `List the kernels that this machine can run. A kernel is an implementation of the search;
--kernel auto selects the first one, which is the fastest. The kernel generic runs on any machine.
A worker that was built with OpenCL also lists the devices of this machine, the fastest GPU first.
auto never selects them, --kernel opencl all GPUs.`,
		Example: `  worker kernels
  worker kernels --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var list []listedKernel
			for i, k := range kernel.Available() {
				list = append(list, listedKernel{Kernel: k.Name, Auto: i == 0})
			}
			devices, err := opencl.Devices()
			if err != nil {
				app.Log.Warn().Err(err).Msg("no device is listed")
			} else if err := opencl.LeftOut(); err != nil {
				app.Log.Warn().Err(err).Msg("devices of a driver may be missing in the list")
			}
			for i, d := range devices {
				list = append(list, listedKernel{Kernel: fmt.Sprint(opencl.Prefix, i), Device: d})
			}
			if asJSON {
				return report.WriteJSON(cmd.OutOrStdout(), list...)
			}
			for _, k := range list {
				line := k.Kernel
				if k.Name != "" {
					units, memory := humanize.Plural(k.Units, "unit"), humanize.Bytes(k.Memory)
					line += fmt.Sprintf("  %s, %s, %s, %s", k.Name, units, memory, k.Driver)
				}
				if _, err := fmt.Fprintln(cmd.OutOrStdout(), line); err != nil {
					return err
				}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON objects, one a line")
	return cmd
}
