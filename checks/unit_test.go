package checks

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// systemd accepts the units, and rates their exposure below 2 of 10. Their programs have each flag
// that the units set. The test replaces only the path of the program.
func TestUnits(t *testing.T) {
	for name, command := range map[string][]string{
		"nqueens-coordinator@.service": {"coordinator", "count"}, "nqueens-worker.service": {"worker"},
	} {
		text, err := os.ReadFile("../deploy/" + name)
		if err != nil {
			t.Fatal(err)
		}
		program := "ExecStart=nqueens-" + command[0] + " "
		if strings.Count(string(text), program) != 1 {
			t.Fatalf("%s does not have %s once", name, program)
		}
		here := strings.Replace(string(text), program, "ExecStart="+filepath.Join(bin, command[0])+" ", 1)
		unit := filepath.Join(t.TempDir(), strings.Replace(name, "@.", "@14.", 1))
		if err := os.WriteFile(unit, []byte(here), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command("systemd-analyze", "--man=no", "verify",
			unit).CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("systemd-analyze verify: %v\n%s", err, out)
		}
		security := exec.Command("systemd-analyze", "--offline=yes", "--threshold=19", "security", unit)
		if out, err := security.CombinedOutput(); err != nil {
			t.Errorf("systemd-analyze security: %v\n%s", err, out)
		}
		help := output(t, command[0], "--help") + output(t, command[0], append(command[1:], "--help")...)
		set := regexp.MustCompile(`\bNQUEENS_([A-Z_]+)=|(?m)^ExecStart=.* --([a-z-]+) `)
		for _, found := range set.FindAllStringSubmatch(string(text), -1) {
			flag := "--" + strings.ReplaceAll(strings.ToLower(found[1]+found[2]), "_", "-") + " "
			if !strings.Contains(help, flag) {
				t.Errorf("%s sets %s, which %s does not have", name, flag, command[0])
			}
		}
	}
}
