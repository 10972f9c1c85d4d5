package cli

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"nqueens/pkg/durable"
	"nqueens/pkg/queens"
)

// bootID is the file in which Linux identifies this boot of the kernel. All containers of a host
// have the same boot id.
const bootID = "/proc/sys/kernel/random/boot_id"

// MachineName returns the name of this machine. One fault may make all counts of a machine wrong.
// The name is the given one, if there is one; dots, as in the names of Kubernetes nodes, become
// dashes. Otherwise the name is the boot id of the kernel on Linux, and elsewhere a random name
// that is kept in the user's state folder.
func MachineName(given string) (string, error) {
	if given == "" {
		state, _ := durable.StateFolder() // without a state folder, no random name can be kept
		return machineName(bootID, state)
	}
	name := strings.ReplaceAll(given, ".", "-")
	if err := queens.ValidateMachine(name); err != nil {
		return "", Usagef("--machine: %w", err)
	}
	return name, nil
}

// HidesHardware returns why the boot id of this machine does not show its hardware, or "": another
// system on the same hardware may have another boot id, and would be another machine. It knows this
// only on Linux.
func HidesHardware() string { return hidesHardware("/proc/self/mountinfo", "/proc/cpuinfo") }

// hidesHardware reads the files in which Linux lists its mounts and its processors. LXC and
// systemd-nspawn mount a boot id of their own over that of the kernel. In a virtual machine,
// processors have the flag hypervisor, but not those of ARM.
func hidesHardware(mounts, processors string) string {
	has := func(path, text string) bool {
		content, _ := os.ReadFile(path) // without the file, nothing is known
		return slices.Contains(strings.Fields(string(content)), text)
	}
	switch {
	case has(mounts, bootID):
		return "this container has a boot id of its own"
	case has(processors, "hypervisor"):
		return "this machine is virtual"
	}
	return ""
}

// HostName returns the name under which people see this machine: the one given with --machine, or
// else the name of the host. It is empty if that can't be known.
func HostName(given string) string {
	name, _ := os.Hostname() // without one, people see the name of the machine
	return queens.CleanHost(cmp.Or(given, name))
}

func machineName(boot, state string) (string, error) {
	text, err := os.ReadFile(boot)
	if err != nil && state != "" {
		kept := filepath.Join(state, "machine")
		err = errors.Join(os.MkdirAll(state, 0o700), durable.WriteNew(kept, []byte(rand.Text()+"\n")))
		if err == nil || errors.Is(err, fs.ErrExist) { // from an earlier process
			text, err = os.ReadFile(kept)
		}
	}
	name := string(bytes.TrimSpace(text))
	if err = cmp.Or(err, queens.ValidateMachine(name)); err != nil {
		return "", fmt.Errorf("the name of this machine can't be kept, give one with --machine: %w", err)
	}
	return name, nil
}
