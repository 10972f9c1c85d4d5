//go:build cluster

package checks

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// systemd accepts the unit of the worker, and rates its exposure as at most 2 of 10. The test replaces only the path of the
// program.
func TestUnit(t *testing.T) {
	text, err := os.ReadFile("../deploy/nqueens-worker.service")
	if err != nil {
		t.Fatal(err)
	}
	const program = "/usr/local/bin/nqueens-worker"
	if !strings.Contains(string(text), "ExecStart="+program+" ") {
		t.Fatalf("the unit does not start %s", program)
	}
	unit := filepath.Join(t.TempDir(), "nqueens-worker.service")
	if err := os.WriteFile(unit, []byte(strings.ReplaceAll(string(text), program, filepath.Join(bin, "worker"))), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("systemd-analyze", "verify", unit).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("systemd-analyze verify: %v\n%s", err, out)
	}
	if out, err := exec.Command("systemd-analyze", "security", "--offline=yes", "--threshold=20", unit).CombinedOutput(); err != nil {
		t.Errorf("systemd-analyze security: %v\n%s", err, out)
	}
}
