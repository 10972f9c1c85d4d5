package cli

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nqueens/pkg/queens"
)

// The name of a machine is the boot id of its kernel. Without a boot id, the name is random and is
// kept.
func TestMachineName(t *testing.T) {
	boot, kept := filepath.Join(t.TempDir(), "boot_id"), filepath.Join(t.TempDir(), "state")
	name, err1 := machineName(boot, kept)
	again, err2 := machineName(boot, kept)
	if err := errors.Join(err1, err2, queens.ValidateMachine(name)); err != nil || name != again {
		t.Errorf("%q and %q, error %v", name, again, err)
	}
	if err := os.WriteFile(boot, []byte("f1a7-b\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if name, err := machineName(boot, kept); err != nil || name != "f1a7-b" {
		t.Errorf("%q, error %v", name, err)
	}
	if err := os.WriteFile(boot, []byte("a b\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if name, err := machineName(boot, kept); err == nil {
		t.Errorf("%q", name)
	}
}

// A container with a boot id of its own and a virtual machine hide their hardware. Containers that
// share the boot id of the kernel do not.
func TestHidesHardware(t *testing.T) {
	const (
		own    = "57 40 0:5 /boot-id /proc/sys/kernel/random/boot_id ro,nosuid - proc proc rw\n"
		shared = "40 22 0:5 / /proc rw,nosuid - proc proc rw\n"
		guest  = "flags\t\t: fpu vme hypervisor lahf_lm\n"
		host   = "model name\t: some hypervisors\nflags\t\t: fpu vme lahf_lm\n"
	)
	for _, c := range []struct{ mounts, processors, want string }{
		{shared, host, ""}, {shared, guest, "virtual"}, {shared + own, host, "boot id of its own"},
		{own + shared, guest, "boot id of its own"},
	} {
		folder := t.TempDir()
		mounts, processors := filepath.Join(folder, "mountinfo"), filepath.Join(folder, "cpuinfo")
		if err := errors.Join(os.WriteFile(mounts, []byte(c.mounts), 0o600),
			os.WriteFile(processors, []byte(c.processors), 0o600)); err != nil {
			t.Fatal(err)
		}
		if why := hidesHardware(mounts, processors); (why == "") != (c.want == "") ||
			!strings.Contains(why, c.want) {
			t.Errorf("%q, want %q", why, c.want)
		}
	}
	if why := hidesHardware(filepath.Join(t.TempDir(), "none"), ""); why != "" {
		t.Errorf("%q where nothing is known", why)
	}
}
