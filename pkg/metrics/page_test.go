package metrics

import (
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"nqueens/pkg/queens"
	"nqueens/pkg/run"
	"nqueens/pkg/testkit"
)

// full returns a coordinator and a worker that export every metric with every label.
func full() (coordinator, worker *prometheus.Registry) {
	c := NewCoordinator("1.2.3")
	c.SetSite(Site{Streams: map[string]Stream{"tasks": {1, 2, 3}, "results": {4, 5, 6}}})
	c.Update(&run.Snapshot{
		Run: "n8-x", N: 8, Symmetry: queens.Full, Tasks: 2, Done: 1, Solutions: (*run.Decimal)(big.NewInt(40)),
		ETA: &run.ETA{Min: run.Seconds{Duration: time.Second}, Max: run.Seconds{Duration: time.Minute}},
	})
	w := workerPage("1.2.3", "laptop-3f9a21", "avx2", func() (Link, run.Work) { return Link{}, run.Work{} })
	return c.registry, w.registry
}

// describe returns a row for each metric of a registry, without those of the Go runtime and the process.
func describe(t *testing.T, r *prometheus.Registry) (rows string) {
	t.Helper()
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if !strings.HasPrefix(f.GetName(), "nqueens_") {
			continue
		}
		var names []string
		values := make(map[string][]string)
		for _, m := range f.GetMetric() {
			for _, label := range m.GetLabel() {
				if !slices.Contains(names, label.GetName()) {
					names = append(names, label.GetName())
				}
				values[label.GetName()] = append(values[label.GetName()], "`"+label.GetValue()+"`")
			}
		}
		for i, name := range names {
			names[i] = "`" + name + "`"
			if !strings.HasSuffix(f.GetName(), "_info") {
				names[i] += ": " + strings.Join(values[name], ", ")
			}
		}
		rows += fmt.Sprintf("| %#q | %s | %s | %s | %s |\n", f.GetName(), strings.ToLower(f.GetType().String()),
			unit(f.GetName()), strings.Join(names, ", "), f.GetHelp())
	}
	return rows
}

// unit returns the unit of a metric, by its name.
func unit(name string) string {
	name = strings.TrimSuffix(name, "_total")
	switch {
	case strings.HasSuffix(name, "_per_second"):
		return "1/s"
	case strings.HasSuffix(name, "_seconds"):
		return "s"
	case strings.HasSuffix(name, "_bytes"):
		return "bytes"
	case strings.HasSuffix(name, "_ratio"):
		return "0 to 1"
	}
	return ""
}

// docs/metrics.md has every metric, with its type, unit, labels and help.
func TestGeneratedMetrics(t *testing.T) {
	coordinator, worker := full()
	for name, registry := range map[string]*prometheus.Registry{"metrics of a coordinator": coordinator, "metrics of a worker": worker} {
		const heading = "| metric | type | unit | labels | meaning |\n|---|---|---|---|---|\n"
		testkit.Generated(t, "docs/metrics.md", name, heading+describe(t, registry))
	}
}

// The names follow the conventions of Prometheus.
func TestNamesFollowTheConventions(t *testing.T) {
	for _, registry := range []*prometheus.Registry{first(full()), second(full())} {
		problems, err := testutil.GatherAndLint(registry)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range problems {
			if strings.HasPrefix(p.Metric, "nqueens_") {
				t.Errorf("%s: %s", p.Metric, p.Text)
			}
		}
	}
}

func first[T any](a, _ T) T  { return a }
func second[T any](_, b T) T { return b }

// While tasks are missing there is a partial sum; when all are counted there is none, because it
// would be a total that is not verified.
func TestNoTotal(t *testing.T) {
	c := NewCoordinator("1.2.3")
	for done, want := range []int{1, 1, 0} {
		c.Update(&run.Snapshot{Run: "n8-x", N: 8, Tasks: 2, Done: uint64(done), Solutions: (*run.Decimal)(big.NewInt(92))})
		if got, err := testutil.GatherAndCount(c.registry, "nqueens_partial_solutions"); err != nil || got != want {
			t.Errorf("%d of 2 tasks are counted: %d partial sums, error %v", done, got, err)
		}
	}
}

// What is unknown is absent.
func TestUnknown(t *testing.T) {
	c := NewCoordinator("1.2.3")
	names := []string{"nqueens_run_info", "nqueens_tasks", "nqueens_disk_free_bytes", "nqueens_stream_messages", "nqueens_eta_max_seconds", "nqueens_connected"}
	count := func() int {
		n, err := testutil.GatherAndCount(c.registry, names...)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if got := count(); got != 0 {
		t.Errorf("before the run: %d", got)
	}
	c.SetSite(Site{DiskFree: -1})
	if got := count(); got != 1 {
		t.Errorf("with a connection to a server that tells nothing: %d", got)
	}
	c.Update(&run.Snapshot{Run: "n8-x", N: 8, Tasks: 2, Solutions: (*run.Decimal)(new(big.Int))})
	if got := count(); got != 1+1+5 {
		t.Errorf("with a run whose time is unknown: %d", got)
	}
}
