package main

import (
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"nqueens/pkg/cli"
	"nqueens/pkg/kernel"
	"nqueens/pkg/kernel/opencl"
)

// searchFlags are the flags of every command that counts.
type searchFlags struct {
	threads int
	kernel  string
}

func (o *searchFlags) register(flags *pflag.FlagSet) {
	flags.IntVar(&o.threads, "threads", runtime.GOMAXPROCS(0), "count on `T` threads, 1 to 4096")
	cli.DefaultIs(flags, "threads", cli.OnePerCore)
	flags.StringVar(&o.kernel, "kernel", kernel.Auto, "`KERNEL` that searches: auto is the fastest of the processor; see worker kernels")
}

// registerCompletion completes the names of kernels, once the flags belong to a command.
func registerCompletion(cmd *cobra.Command) {
	_ = cmd.RegisterFlagCompletionFunc("kernel", cobra.FixedCompletions(kernel.Names(), cobra.ShellCompDirectiveNoFileComp)) // fails only for unknown flags
}

// choose checks the flags and returns what they select. It loads drivers if that is a device, which has one thread.
func (o *searchFlags) choose() (k kernel.Kernel, threads int, err error) {
	if err := cli.CheckRange("threads", o.threads, 1, cli.MaxThreads); err != nil {
		return k, 0, err
	}
	number, isDevice := strings.CutPrefix(o.kernel, opencl.Prefix)
	if !isDevice {
		if !slices.Contains(kernel.Names(), o.kernel) {
			return k, 0, cli.Usagef("--kernel must be one of %s, or a device such as %s0, not %q", strings.Join(kernel.Names(), ", "), opencl.Prefix, o.kernel)
		}
		k, err = kernel.Choose(o.kernel)
		return k, o.threads, err
	}
	index, err := strconv.ParseUint(number, 10, 16)
	if err != nil {
		return k, 0, cli.Usagef("--kernel must name a device as in %s0, not %q", opencl.Prefix, o.kernel)
	}
	if k, err = opencl.Kernel(int(index)); err != nil {
		return k, 0, cli.Usagef("--kernel %s: %w", o.kernel, err)
	}
	there, err := opencl.Devices()
	if err != nil {
		return k, 0, cli.Usagef("--kernel %s: %w", o.kernel, err)
	}
	if int(index) >= len(there) {
		return k, 0, cli.Usagef("--kernel %s: this machine has no such device: see worker kernels", o.kernel)
	}
	return k, 1, nil
}
