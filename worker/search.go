package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"nqueens/pkg/cli"
	"nqueens/pkg/count"
	"nqueens/pkg/halves"
	"nqueens/pkg/kernel"
	"nqueens/pkg/kernel/opencl"
)

// searchFlags are the flags of every command that counts.
type searchFlags struct {
	threads int
	asked   func() bool // reports whether --threads was given
	name    string      // of the kernel
}

func (o *searchFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	cli.Threads(flags, &o.threads, "threads", 1, cli.MaxThreads, "count on `T` threads")
	o.asked = func() bool { return flags.Changed("threads") }
	cli.Checked(flags, "kernel", kernel.Auto,
		"search with this `KERNEL`: auto is the fastest of the processor, opencl all GPUs, "+
			"the command kernels lists all", o.setKernel)
	names := cobra.FixedCompletions(append(kernel.Names(), opencl.All),
		cobra.ShellCompDirectiveNoFileComp)
	_ = cmd.RegisterFlagCompletionFunc("kernel", names) // fails only for unknown flags
}

// setKernel sets the name of the kernel. It loads no driver: a device that does not exist is an
// error only when its kernel runs.
func (o *searchFlags) setKernel(name string) error {
	switch {
	case opencl.Selects(name):
		if err := opencl.Validate(name); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	case opencl.Joins(name):
		if _, err := opencl.Join(name); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	case !slices.Contains(kernel.Names(), name):
		return fmt.Errorf("must be one of %s, %s for all GPUs, or a device such as %s0, not %q",
			strings.Join(kernel.Names(), ", "), opencl.All, opencl.Prefix, name)
	}
	o.name = name
	return nil
}

// processor returns the kernel of the processor that --kernel names. With a device it is the
// fastest.
func (o *searchFlags) processor() (kernel.Kernel, error) {
	if opencl.Selects(o.name) || opencl.Joins(o.name) {
		return kernel.Choose(kernel.Auto)
	}
	return kernel.Choose(o.name)
}

// halves returns the kernel of the method halves that --kernel names: see [count.HalvesNamed].
func (o *searchFlags) halves() (halves.Kernel, error) {
	if opencl.Joins(o.name) {
		return opencl.Join(o.name)
	}
	return count.HalvesNamed(o.name), nil
}

// parts returns what a worker searches with: the devices that --kernel names, and the processor if
// --kernel names its kernel or --threads was given. note is for the log, if it is not empty.
func (o *searchFlags) parts() (parts []part, note string, err error) {
	if opencl.Selects(o.name) {
		devices, n, err := opencl.Kernels(o.name)
		if err != nil {
			return nil, "", err
		}
		for _, k := range devices {
			parts = append(parts, part{kernel: k, threads: 1, device: true})
		}
		note = n
		if !o.asked() {
			return parts, note, nil
		}
	}
	k, err := o.processor()
	return append(parts, part{kernel: k, threads: o.threads}), note, err
}

// together returns a kernel that counts with all devices that --kernel names, or with the threads
// of the processor, and the number of its counters.
func (o *searchFlags) together() (k kernel.Kernel, counters int, err error) {
	if !opencl.Selects(o.name) {
		k, err = o.processor()
		return k, o.threads, err
	}
	devices, _, err := opencl.Kernels(o.name)
	if err != nil {
		return kernel.Kernel{}, 0, err
	}
	if len(devices) == 1 {
		return devices[0], 1, nil
	}
	return opencl.Together(o.name, devices), len(devices), nil
}
