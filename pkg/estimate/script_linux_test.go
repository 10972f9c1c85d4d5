package estimate_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// fakeGo stands for go where the script runs: it builds a coordinator that estimates MID
// seconds, from LOW to 100, and counts for 1.5, and its benchmark knows the side 4.
const fakeGo = `#!/bin/sh
case "$1" in
build) printf '#!/bin/sh\n[ "$1" = estimate ] || exec sleep 1.5\necho '\''{"seconds":{"low":%s,"mid":%s,"high":100},"core_seconds":{}}'\''\n' "$LOW" "$MID" >"$3"; chmod +x "$3" ;;
env) echo go1.0 ;;
test) echo "BenchmarkPublished/n=4-2 1 5 ns/op 7 descents 3 high 1 low 2 mean 2 published" ;;
esac
`

// The script writes both tables of the page where its estimates hold, and leaves the page as
// it is where they do not.
func TestScriptWritesNoFailures(t *testing.T) {
	t.Parallel()
	script, err := os.ReadFile("../../scripts/bench-estimate")
	if err != nil {
		t.Fatal(err)
	}
	const before = "<!-- measured -->\nold\n<!-- end -->\ntext\n<!-- probes -->\nold\n<!-- end -->\n"
	for name, c := range map[string]struct {
		low, mid string
		holds    bool
	}{
		"it holds":              {"1", "1.8", true},
		"outside the range":     {"99", "1.8", false},
		"the middle is far off": {"1", "50", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			page := filepath.Join(folder, "docs", "estimates.md")
			for path, text := range map[string]string{
				filepath.Join(folder, "scripts", "bench-estimate"): string(script), filepath.Join(folder, "bin", "go"): fakeGo, page: before,
			} {
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			cmd := exec.CommandContext(t.Context(), filepath.Join(folder, "scripts", "bench-estimate"), "--page")
			cmd.Env = append(os.Environ(), "PATH="+filepath.Join(folder, "bin")+":"+os.Getenv("PATH"), "RUNS=1", "LOW="+c.low, "MID="+c.mid)
			said, err := cmd.CombinedOutput()
			after, readErr := os.ReadFile(page)
			if readErr != nil {
				t.Fatal(readErr)
			}
			written := strings.Contains(string(after), "Runs of each side: 1.\n") && strings.Contains(string(after), "| 4 | 7 | 2 | 1 to 3 | 2 | 1.000 |") &&
				!strings.Contains(string(after), "old")
			if (err == nil) != c.holds || written != c.holds || !c.holds && string(after) != before {
				t.Errorf("error %v\n%s\nand the page is\n%s", err, said, after)
			}
		})
	}
}
