package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"nqueens/pkg/cli"
	"nqueens/pkg/kernel"
	"nqueens/pkg/kernel/opencl"
)

// searchFlags are the flags of every command that counts.
type searchFlags struct {
	threads int
	kernel  kernel.Kernel
}

func (o *searchFlags) register(cmd *cobra.Command) {
	cli.Threads(cmd.Flags(), &o.threads, "threads", 1, cli.MaxThreads, "count on `T` threads")
	cli.Checked(cmd.Flags(), "kernel", kernel.Auto,
		"search with this `KERNEL`: auto is the fastest of the processor, the command kernels lists all", o.setKernel)
	names := cobra.FixedCompletions(kernel.Names(), cobra.ShellCompDirectiveNoFileComp)
	_ = cmd.RegisterFlagCompletionFunc("kernel", names) // fails only for unknown flags
}

// setKernel sets the kernel that has the given name. It loads no driver: a device that does not exist is an error only when its
// kernel runs.
func (o *searchFlags) setKernel(name string) (err error) {
	switch {
	case strings.HasPrefix(name, opencl.Prefix):
		if o.kernel, err = opencl.Kernel(name); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	case slices.Contains(kernel.Names(), name):
		o.kernel, err = kernel.Choose(name)
	default:
		err = fmt.Errorf("must be one of %s, or a device such as %s0, not %q",
			strings.Join(kernel.Names(), ", "), opencl.Prefix, name)
	}
	return err
}

// threadCount returns the number of threads to count with: the value of --threads, but 1 for a device.
func (o *searchFlags) threadCount() int {
	if strings.HasPrefix(o.kernel.Name, opencl.Prefix) {
		return 1
	}
	return o.threads
}
