package cli

import (
	"errors"
	"os"
	"path/filepath"
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
