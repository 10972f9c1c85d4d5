package main

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/rs/zerolog"
	"github.com/spf13/pflag"

	"nqueens/pkg/cli"
	"nqueens/pkg/kernel"
	"nqueens/pkg/kernel/opencl"
	runs "nqueens/pkg/run"
	"nqueens/pkg/worker"
)

// searchOptions are the flags of every command that counts.
type searchOptions struct {
	threads int
	kernels kernelsFlag
}

func (o *searchOptions) addFlags(flags *pflag.FlagSet) {
	flags.IntVar(&o.threads, "threads", runtime.GOMAXPROCS(0), "count `N` tasks at once on the CPU, 1 to 4096")
	cli.DefaultIs(flags, "threads", cli.OnePerCore)
	o.kernels.Enum = cli.NewEnum(&o.kernels.cpu, kernel.Auto, kernel.Names()...).WithScope("this machine")
	flags.Var(&o.kernels, "kernel", "`KERNEL` to search with, or a device such as opencl:0, see worker kernels")
}

// search is what searches, of one kernel or several.
type search struct {
	devices []kernel.Kernel
	cpu     kernel.Kernel // the fastest, if it is not chosen
	threads int           // of the CPU; 0 if it is not chosen
}

// choose checks the flags and returns what they select. It loads drivers if that is a device, to see
// whether it is there.
func (o *searchOptions) choose() (s search, err error) {
	if err := cli.CheckRange("threads", o.threads, 1, cli.MaxThreads); err != nil {
		return s, err
	}
	if s.cpu, err = kernel.Choose(o.kernels.cpu); err != nil {
		return s, err
	}
	if len(o.kernels.devices) == 0 || o.kernels.withCPU {
		s.threads = o.threads
	}
	if len(o.kernels.devices) == 0 {
		return s, nil
	}
	there, err := opencl.Devices()
	if err != nil {
		return s, cli.Usagef("--kernel %s: %w", o.kernels.String(), err)
	}
	for _, index := range o.kernels.devices {
		if index >= len(there) {
			return s, cli.Usagef("--kernel %s%d: this machine has no such device: see worker kernels", opencl.Prefix, index)
		}
		k, err := opencl.Kernel(index)
		if err != nil {
			return s, err
		}
		s.devices = append(s.devices, k)
	}
	return s, nil
}

// chooseOne is choose for commands that count with one kernel. A device has one thread.
func (o *searchOptions) chooseOne() (k kernel.Kernel, threads int, err error) {
	s, err := o.choose()
	switch {
	case err != nil:
		return k, 0, err
	case len(s.devices) == 0:
		return s.cpu, s.threads, nil
	case len(s.devices) > 1 || s.threads > 0:
		return k, 0, cli.Usagef("--kernel must be one kernel here, not %q", o.kernels.String())
	}
	return s.devices[0], 1, nil
}

// kernelsFlag is the flag --kernel: a kernel of the CPU, or a list of devices, with cpu among them for
// the fastest kernel of the CPU.
type kernelsFlag struct {
	*cli.Enum // one of the CPU

	cpu     string
	list    string // as it was given, if it has a device
	devices []int
	withCPU bool // beside devices
}

// cpuKernel stands for the fastest kernel of the CPU, beside devices.
const cpuKernel = "cpu"

// String returns the value.
func (f *kernelsFlag) String() string {
	if f.list != "" || f.Enum == nil {
		return f.list
	}
	return f.Enum.String()
}

// Set sets the value. It loads no driver.
func (f *kernelsFlag) Set(value string) error {
	f.list, f.devices, f.withCPU = "", nil, false
	if !strings.Contains(value, opencl.Prefix) {
		return f.Enum.Set(value)
	}
	for _, name := range strings.Split(value, ",") {
		number, isDevice := strings.CutPrefix(name, opencl.Prefix)
		if !isDevice && name != cpuKernel {
			return fmt.Errorf("must be a list of devices such as %s0, and %s, not %q", opencl.Prefix, cpuKernel, value)
		}
		if !isDevice && f.withCPU {
			return fmt.Errorf("names %s twice", cpuKernel)
		}
		if !isDevice {
			f.withCPU = true
			continue
		}
		index, err := strconv.ParseUint(number, 10, 16)
		if err != nil {
			return fmt.Errorf("must name devices as in %s0, not %q", opencl.Prefix, name)
		}
		if _, err := opencl.Kernel(int(index)); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if slices.Contains(f.devices, int(index)) {
			return fmt.Errorf("names %s twice", name)
		}
		f.devices = append(f.devices, int(index))
	}
	if len(f.devices) > maxDevices {
		return fmt.Errorf("names %d devices, more than %d", len(f.devices), maxDevices)
	}
	f.list = value
	return nil
}

// maxDevices bounds the devices of a worker.
const maxDevices = 64

// check checks the kernels, and measures how many threads a device is worth. The error names a kernel.
func (s *search) check(ctx context.Context, log zerolog.Logger) (devices []worker.Device, err error) {
	for _, k := range append([]kernel.Kernel{s.cpu}, s.devices...) { // the CPU too: it measures the devices
		if err := kernel.SelfTest(ctx, k); err != nil {
			return nil, err
		}
	}
	for _, k := range s.devices {
		threads, err := kernel.Equivalent(ctx, k, s.cpu)
		if err != nil {
			return nil, err
		}
		threads = min(threads, s.maxThreads())
		log.Info().Str("kernel", k.Name).Int("threads", threads).Msg("the device counts as this many threads")
		devices = append(devices, worker.Device{Kernel: k, Threads: threads})
	}
	return devices, nil
}

// maxThreads returns the most threads that each device may count for: coordinators refuse a worker with
// more than [runs.MaxThreads].
func (s *search) maxThreads() int { return (runs.MaxThreads - s.threads) / len(s.devices) }
