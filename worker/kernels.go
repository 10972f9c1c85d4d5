package main

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"nqueens/pkg/cli"
	"nqueens/pkg/humanize"
	"nqueens/pkg/kernel"
	"nqueens/pkg/kernel/opencl"
)

// kernelReport is what kernels prints for each kernel.
type kernelReport struct {
	Kernel string `json:"kernel"`           // its name, for --kernel
	Auto   bool   `json:"auto"`             // whether --kernel auto chooses it
	Device string `json:"device,omitempty"` // name of the device, by its driver
	Vendor string `json:"vendor,omitempty"` // its maker
	Units  int    `json:"units,omitempty"`  // its compute units: multiprocessors of a GPU, threads of a CPU
	Memory uint64 `json:"memory,omitempty"` // its memory, bytes
	Driver string `json:"driver,omitempty"` // platform and version of its driver
}

// write prints the report on a line.
func (r *kernelReport) write(out io.Writer, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(out).Encode(r)
	}
	line := r.Kernel
	if r.Device != "" {
		line += fmt.Sprintf("  %s, %s, %s, %s", r.Device, humanize.Plural(r.Units, "unit"), humanize.Bytes(r.Memory), r.Driver)
	}
	_, err := fmt.Fprintln(out, line)
	return err
}

func kernelsCommand(app *cli.App) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "kernels",
		Short: "List the kernels that this machine can run, the fastest (auto) first",
		Long: `List the kernels, the implementations of the search, that this machine can run, the fastest
first: --kernel auto selects it. The kernel generic runs on any machine. A worker built with
OpenCL lists the devices of this machine too; auto never selects one.`,
		Example: `  worker kernels
  worker kernels --json`,
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			out := cmd.OutOrStdout()
			for i, k := range kernel.Available() {
				r := kernelReport{Kernel: k.Name, Auto: i == 0}
				if err := r.write(out, asJSON); err != nil {
					return err
				}
			}
			if _, err := opencl.Kernel(0); err != nil { // built without OpenCL
				return nil
			}
			devices, err := opencl.Devices()
			if err != nil {
				app.Log.Warn().Err(err).Msg("no device is listed")
			}
			for _, d := range devices {
				r := kernelReport{
					Kernel: fmt.Sprint(opencl.Prefix, d.Index), Device: d.Name, Vendor: d.Vendor, Units: d.Units, Memory: d.Memory, Driver: d.Driver,
				}
				if err := r.write(out, asJSON); err != nil {
					return err
				}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON object a line")
	return cmd
}
