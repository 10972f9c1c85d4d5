package page

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// deploy is the folder of the files for Prometheus, Grafana and an autoscaler.
const deploy = "../../deploy"

func readDeployed(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(deploy, name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// The dashboard, the alerts and the autoscaler name only metrics that a coordinator or a worker
// has.
func TestDeployedMetrics(t *testing.T) {
	s := running()
	exported := runMetrics(&s, "v1") + workerMetrics(Worker{})
	dashboard, alerts := readDeployed(t, "grafana/nqueens.json"),
		readDeployed(t, "prometheus/alerts.yml")
	all := slices.Concat(dashboard, alerts, readDeployed(t, "autoscale.yaml"))
	for _, name := range regexp.MustCompile(`nqueens_\w+`).FindAllString(string(all), -1) {
		if !strings.Contains(exported, "# TYPE "+name+" ") {
			t.Errorf("no process has the metric %s", name)
		}
	}
	if rules := strings.Count(string(alerts), "- alert: "); rules != 6 {
		t.Errorf("%d alerts, want 6", rules)
	}
}

// Prometheus accepts the rules and the queries of the dashboard. Each alert fires when it should,
// and the metrics follow the conventions.
func TestPromtool(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("no promtool on the PATH: it is in Debian's package prometheus")
	}
	var dashboard struct {
		Panels []struct{ Targets []struct{ Expr string } }
	}
	if err := json.Unmarshal(readDeployed(t, "grafana/nqueens.json"), &dashboard); err != nil ||
		len(dashboard.Panels) < 8 {
		t.Fatalf("the dashboard has %d panels (%v)", len(dashboard.Panels), err)
	}
	rules := "groups:\n- name: dashboard\n  rules:\n"
	for _, p := range dashboard.Panels {
		for _, target := range p.Targets {
			rules += fmt.Sprintf("  - record: 'nqueens:r%d'\n    expr: '%s'\n", len(rules), target.Expr)
		}
	}
	panels := filepath.Join(t.TempDir(), "panels.yml")
	if err := os.WriteFile(panels, []byte(rules), 0o600); err != nil {
		t.Fatal(err)
	}
	s := running()
	for _, c := range []struct{ stdin, command string }{
		{"", "check rules " + panels}, {"", "check rules alerts.yml"}, {"", "test rules alerts_test.yml"},
		{runMetrics(&s, "v1"), "check metrics"},
		{workerMetrics(Worker{Machine: "a", Process: "b"}), "check metrics"},
	} {
		cmd := exec.CommandContext(t.Context(), promtool, strings.Fields(c.command)...)
		cmd.Dir, cmd.Stdin = filepath.Join(deploy, "prometheus"), strings.NewReader(c.stdin)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", c.command, err, out)
		}
	}
}
