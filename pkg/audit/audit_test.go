package audit_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"nqueens/pkg/audit"
	"nqueens/pkg/count"
	"nqueens/pkg/kernel"
	"nqueens/pkg/ledger"
	"nqueens/pkg/queens"
	"nqueens/pkg/split"
	"nqueens/pkg/symmetry"
	"nqueens/pkg/testkit"
)

var at = time.UnixMilli(1e12).UTC()

// counted is a run. Machine "a" has counted all its tasks, in chunks of up to 3.
type counted struct {
	header  ledger.Header
	index   *split.Index
	results []*ledger.Result
}

func countRun(t *testing.T, s queens.Symmetry, placed ...queens.Square) *counted {
	t.Helper()
	const n = 8
	classes, err := symmetry.Classes(n, s, placed...)
	if err != nil {
		t.Fatal(err)
	}
	m, index, err := split.Plan(t.Context(), n, s, classes, 2)
	if err != nil {
		t.Fatal(err)
	}
	m.Placed = placed
	c := &counted{index: index,
		header: ledger.Header{Format: ledger.Format, Run: "n8-a", Manifest: m, Redundancy: 1,
			Created: at}}
	var hashes []uint64
	for _, task := range index.All() {
		one, err := count.One(t.Context(), count.Kernels{Prefixes: kernel.Reference()}, &task)
		if err != nil {
			t.Fatal(err)
		}
		if task.ID%3 == 0 || m.ClassOf(task.ID) != m.ClassOf(task.ID-1) {
			c.results, hashes = append(c.results, &ledger.Result{
				Machine: testkit.Machine("a"), Process: "p", Kernel: "generic",
				Range: queens.Range{First: task.ID}, Searched: 3 * time.Second, At: at,
			}), nil
		}
		hashes = append(hashes, task.Hash())
		r := c.results[len(c.results)-1]
		r.Tasks++
		r.Counts, r.Hash = append(r.Counts, one.Count), queens.HashOfRange(hashes)
	}
	return c
}

// write writes a ledger with the results and then the given records, and returns its path.
func (c *counted) write(t *testing.T, more ...ledger.Record) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), c.header.Run, ledger.File)
	l, err := ledger.Create(path, c.header)
	if err != nil {
		t.Fatal(err)
	}
	var records []ledger.Record
	for _, r := range c.results {
		records = append(records, r)
	}
	if err := errors.Join(l.Write(append(records, more...)...), l.Close()); err != nil {
		t.Fatal(err)
	}
	return path
}

// mark returns a mark that says that all tasks are done. Only a mark of a complete run has the
// total.
func (c *counted) mark(state queens.State, total int64) *ledger.Mark {
	m := &ledger.Mark{
		State: state, Done: c.header.Manifest.Tasks, Work: 1, Wall: time.Minute,
		Solutions: (*queens.Decimal)(big.NewInt(total)), At: at,
	}
	if state == queens.Complete {
		m.Total = m.Solutions
	}
	return m
}

// The second way gives the same total however many tasks a window has. In every window it finds a
// wrong hash, a missing count, and two counts of a task that differ.
func TestWindows(t *testing.T) {
	nobody := func(queens.Machine) bool { return false }
	c := countRun(t, queens.Full)
	m := &c.header.Manifest
	path := c.write(t)
	wrong, missing := countRun(t, queens.Full), countRun(t, queens.Full)
	last := len(c.results) - 1
	wrong.results[last].Hash++
	missing.results = missing.results[:last]
	wrongPath, missingPath := wrong.write(t), missing.write(t)
	other := *c.results[last]
	other.Machine, other.Counts = testkit.Machine("b"), slices.Clone(other.Counts)
	other.Counts[0]++
	differingPath := c.write(t, &other)
	for size := 1; size <= int(m.Tasks)+1; size++ {
		total, err := audit.Again(t.Context(), path, m, nobody, size)
		if err != nil || total.Int64() != 92 {
			t.Errorf("windows of %d tasks: %v, %v", size, total, err)
		}
		if _, err := audit.Again(t.Context(), wrongPath, m, nobody, size); !errors.Is(err,
			queens.ErrContradiction) {
			t.Errorf("windows of %d tasks: a wrong hash gives %v", size, err)
		}
		if _, err := audit.Again(t.Context(), missingPath, m, nobody, size); !errors.Is(err,
			queens.ErrIncomplete) {
			t.Errorf("windows of %d tasks: a missing count gives %v", size, err)
		}
		if _, err := audit.Again(t.Context(), differingPath, m, nobody, size); !errors.Is(err,
			queens.ErrContradiction) {
			t.Errorf("windows of %d tasks: two counts of a task give %v", size, err)
		}
	}
}

// The hash of the tasks does not cover the weights of the classes, so the classes are compared.
func TestWeights(t *testing.T) {
	m := countRun(t, queens.Full).header.Manifest
	if err := audit.CheckClasses(&m); err != nil {
		t.Error(err)
	}
	for i := range m.Classes {
		wrong := m
		wrong.Classes = slices.Clone(m.Classes)
		wrong.Classes[i].Weight--
		if err := audit.CheckClasses(&wrong); !errors.Is(err, queens.ErrContradiction) {
			t.Errorf("class %d with another weight: %v", i, err)
		}
	}
}

// A wrong ledger gives an error and no total, and a right one gives 92.
func TestTotal(t *testing.T) {
	type records = []ledger.Record
	for about, c := range map[string]struct {
		change func(c *counted) records // returns records that follow the results
		err    error
	}{
		"counted": {func(*counted) records { return nil }, nil},
		"complete": {func(c *counted) records {
			return records{c.mark(queens.Complete, 92)}
		}, nil},
		"another total": {func(c *counted) records {
			return records{c.mark(queens.Complete, 91)}
		}, queens.ErrContradiction},
		"contradicted": {func(c *counted) records {
			return records{c.mark(queens.Contradicted, 92)}
		}, queens.ErrContradiction},
		"a wrong count": {func(c *counted) records {
			c.results[1].Counts[0]++
			return nil
		}, queens.ErrContradiction},
		"another search": {func(c *counted) records {
			c.results[1].Hash++
			return nil
		}, queens.ErrContradiction},
		"another weight": {func(c *counted) records {
			c.header.Manifest.Classes[0].Weight /= 2
			return nil
		}, queens.ErrContradiction},
		"another split": {func(c *counted) records {
			c.header.Manifest.Hash[0]++
			return nil
		}, queens.ErrContradiction},
		"a missing chunk": {func(c *counted) records {
			c.results = c.results[1:]
			return nil
		}, queens.ErrIncomplete},
		"contradicted early": {func(c *counted) records {
			c.results = c.results[1:]
			return records{c.mark(queens.Contradicted, 92)}
		}, queens.ErrContradiction},
		"a dispute": {func(c *counted) records { return records{c.wrong()} }, queens.ErrIncomplete},
		"a verdict": {func(c *counted) records { return records{c.wrong(), c.recount("avx2", 0)} }, nil},
		"a recount that needs another": {func(c *counted) records {
			return records{c.wrong(), c.recount("avx2", 5)}
		}, queens.ErrIncomplete},
		"recounts that differ": {func(c *counted) records {
			return records{c.wrong(), c.recount("avx2", 5), c.recount("generic", 0)}
		}, queens.ErrIncomplete},
		"the same wrong search twice": {func(c *counted) records {
			again := c.recount("avx2", 5)
			again.Machine = "d"
			third := c.recount("generic", 0)
			third.Deeper = true
			return records{c.wrong(), c.recount("avx2", 5), again, c.recount("generic", 0), third}
		}, nil},
		"two of three recounts": {func(c *counted) records {
			third := c.recount("generic", 0)
			third.Machine, third.Deeper = "d", true
			return records{c.wrong(), c.recount("generic", 0), c.recount("avx2", 5), third}
		}, nil},
	} {
		t.Run(about, func(t *testing.T) {
			run := countRun(t, queens.Mirror)
			more := c.change(run)
			total, err := audit.Total(t.Context(), run.write(t, more...))
			if !errors.Is(err, c.err) || err == nil && total.Int64() != 92 || err != nil && total != nil {
				t.Errorf("total %v, error %v", total, err)
			}
		})
	}
}

// wrong returns the first result as machine "b" would give it, with another count of the first
// task.
func (c *counted) wrong() *ledger.Result {
	r := *c.results[0]
	r.Machine, r.Kernel, r.Counts = testkit.Machine("b"), "avx512", slices.Clone(r.Counts)
	r.Counts[0] += 3
	return &r
}

// recount returns a recount of the first task. Its count is the first count plus the given number.
func (c *counted) recount(kernel string, by uint64) *ledger.Recount {
	return &ledger.Recount{Task: 0, Count: c.results[0].Counts[0] + by, Machine: "home",
		Kernel: kernel, Why: ledger.Disputed, At: at}
}

var sample = audit.Sample{Share: 1, Threads: 2, OnProgress: func(done, of uint64) {}}

// A right run is verified. A wrong count is found and named, even if no total is published.
func TestVerify(t *testing.T) {
	placed := queens.Square{Row: 0, Column: 2}
	run := countRun(t, queens.None, placed)
	fastest := kernel.Available()[0].Name // verify would take it if no worker had
	var total int64
	for _, r := range run.results {
		r.Kernel = fastest
		for _, count := range r.Counts {
			total += int64(count)
		}
	}
	path := run.write(t, run.mark(queens.Complete, total))
	v, err := audit.Verify(t.Context(), path, sample)
	if err != nil || !v.Verified || (*big.Int)(v.Total).Int64() != total ||
		v.Level != queens.Unconfirmed {
		t.Fatalf("%+v %v", v, err)
	}
	if v.Recounted != v.Tasks || v.Whole != "mirror-image" || !(v.Share > 0.99) {
		t.Fatalf("%+v", v)
	}
	if len(kernel.Available()) > 1 && slices.Contains(v.Kernels, fastest) {
		t.Errorf("kernel %s counted, and recounted", fastest)
	}
	run.results[1].Counts[1]++
	v, err = audit.Verify(t.Context(), run.write(t, run.mark(queens.Complete, total+1)), sample)
	wrong := run.results[1]
	d := audit.Difference{
		Task: wrong.First + 1, Count: wrong.Counts[1], Machines: []string{"a"},
		Recount: wrong.Counts[1] - 1, Kernel: v.Kernels[0],
	}
	if !errors.Is(err, queens.ErrContradiction) || v.Verified || v.Total != nil {
		t.Errorf("%+v %v", v, err)
	}
	if v.Differing != 1 || v.Differences[0].String() != d.String() {
		t.Errorf("%v, want %v", v.Differences, d)
	}
}

// A run that has not ended has no total, but a sample of its tasks is counted.
func TestVerifyUnfinished(t *testing.T) {
	run := countRun(t, queens.Full)
	v, err := audit.Verify(t.Context(), run.write(t), sample)
	if !errors.Is(err, queens.ErrIncomplete) || v.Total != nil || v.Recounted != v.Tasks ||
		v.Verified {
		t.Errorf("%+v %v", v, err)
	}
	run.results = nil
	if v, err = audit.Verify(t.Context(), run.write(t), sample); !errors.Is(err,
		queens.ErrIncomplete) || v.Recounted != 0 {
		t.Errorf("%+v %v", v, err)
	}
}

// When ctx ends, so does the recount, and Verify returns what was found.
func TestVerifyStopped(t *testing.T) {
	run := countRun(t, queens.Full)
	ctx, cancel := context.WithCancel(t.Context())
	s := sample
	s.Threads, s.OnProgress = 1, func(done, of uint64) {
		if done == 3 {
			cancel()
		}
	}
	v, err := audit.Verify(ctx, run.write(t, run.mark(queens.Complete, 92)), s)
	if !errors.Is(err, context.Canceled) || !v.Stopped || v.Recounted < 3 || v.Recounted == v.Tasks ||
		v.Total == nil {
		t.Errorf("%+v %v", v, err)
	}
	v, err = audit.Verify(ctx, run.write(t, run.mark(queens.Complete, 92)), s) // from the start
	if !errors.Is(err, context.Canceled) || !v.Stopped || v.Recounted > 0 || v.Whole != "" ||
		v.Total != nil {
		t.Errorf("%+v %v", v, err)
	}
}

// A sample has the requested share of the tasks.
func TestSampleSize(t *testing.T) {
	run := countRun(t, queens.Full)
	path := run.write(t, run.mark(queens.Complete, 92))
	s := sample
	s.Share = 0.25
	v, err := audit.Verify(t.Context(), path, s)
	if want := (v.Tasks + 3) / 4; err != nil || v.Recounted != want {
		t.Errorf("%d recounted of %d, %v", v.Recounted, v.Tasks, err)
	}
	s.Share = 0
	if v, err := audit.Verify(t.Context(), path, s); err != nil || v.Recounted != 0 || !v.Verified {
		t.Errorf("%d recounted of none, %v", v.Recounted, err)
	}
}

// Each task can be in a sample, and samples differ. A task is in none of 64 samples of half the
// tasks with a probability of 2^-64.
func TestSampleIsDrawn(t *testing.T) {
	run := countRun(t, queens.Full)
	for _, r := range run.results {
		for i := range r.Counts {
			r.Counts[i] += 7 // so that a recount names the task
		}
	}
	path := run.write(t)
	s, in, samples := sample, map[uint64]int{}, map[string]bool{}
	s.Share = 0.5
	for range 64 {
		v, err := audit.Verify(t.Context(), path, s)
		if !errors.Is(err, queens.ErrContradiction) || v.Differing != v.Recounted {
			t.Fatal(err)
		}
		for _, d := range v.Differences {
			in[d.Task]++
		}
		samples[fmt.Sprint(v.Differences)] = true
	}
	if tasks := run.header.Manifest.Tasks; uint64(len(in)) != tasks || tasks < 10 || len(samples) < 8 {
		t.Errorf("%d of %d tasks are in a sample; %d samples differ", len(in), tasks, len(samples))
	}
}

// An export has every task once, as the split makes it, with its count, machine and kernel. A task
// that is not done has none of these.
func TestExport(t *testing.T) {
	run := countRun(t, queens.Full)
	missing := run.results[2]
	run.results = slices.Delete(run.results, 2, 3)
	verdict := run.results[0].Range
	path := run.write(t, run.wrong(), run.recount("avx2", 0))
	var out bytes.Buffer
	if err := audit.Export(t.Context(), path, &out); err != nil {
		t.Fatal(err)
	}
	lines := json.NewDecoder(&out)
	for _, task := range run.index.All() {
		var line queens.ExportedTask
		if err := lines.Decode(&line); err != nil {
			t.Fatal(err)
		}
		search, err := line.Search()
		weight := run.header.Manifest.Classes[run.header.Manifest.ClassOf(task.ID)].Weight
		if err != nil || search.Hash() != task.Hash() || line.Weight != weight {
			t.Fatalf("%+v %v", line, err)
		}
		if missing.Contains(queens.Range{First: task.ID, Tasks: 1}) {
			if line.Count != nil || line.User+line.Machine != "" {
				t.Errorf("%+v", line)
			}
			continue
		}
		one, err := count.One(t.Context(), count.Kernels{Prefixes: kernel.Reference()}, &task)
		isBy := line.User == "worker" && line.Machine == "a" && line.Kernel == "generic" &&
			line.Seconds > 0
		if err != nil || line.Count == nil || *line.Count != one.Count || !isBy {
			t.Errorf("%+v, of %v, want %d, %v", line, verdict, one.Count, err)
		}
	}
	if err := lines.Decode(new(queens.ExportedTask)); !errors.Is(err, io.EOF) {
		t.Error("the export has more lines than tasks")
	}
	ban := func(machine string) *ledger.Ban {
		return &ledger.Ban{Ban: queens.Ban{Machine: testkit.Machine(machine)}, At: at}
	}
	// the verdict holds
	path = run.write(t, run.wrong(), run.recount("avx2", 0), ban("a"), ban("home"))
	if err := audit.Export(t.Context(), path, &out); err != nil {
		t.Fatal(err)
	}
	var first queens.ExportedTask
	err := json.Unmarshal(bytes.SplitAfter(out.Bytes(), []byte("\n"))[0], &first)
	if want := run.results[0].Counts[0]; err != nil || first.Count == nil || *first.Count != want ||
		first.Machine != "home" {
		t.Errorf("%+v %v, want %d", first, err, want)
	}
}

func TestSurvey(t *testing.T) {
	run := countRun(t, queens.Full)
	running := run.mark(queens.Running, 40)
	running.Wall = time.Second
	ban := &ledger.Ban{Ban: queens.Ban{Machine: testkit.Machine("b")}, At: at}
	path := run.write(t, running, run.wrong(), run.recount("avx2", 0), ban,
		run.mark(queens.Stopped, 92))
	s, _, err := ledger.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	snapshot := s.Snapshot(0.5)
	if err := snapshot.Validate(); err != nil || snapshot.Solutions.String() != "92" ||
		snapshot.Elapsed.Duration != time.Minute {
		t.Errorf("%+v %v", snapshot, err)
	}
	if len(snapshot.Banned) != 1 || snapshot.Disputes != 1 {
		t.Errorf("banned %v, %d disputes", snapshot.Banned, snapshot.Disputes)
	}
	if h := audit.History(path); len(h) != 2 || h[1].Solutions != 92 {
		t.Error(h)
	}
	if workers := s.Workers(); workers != 1 {
		t.Error(workers)
	}
}

// A ledger of another version of the splitting rules gives an error, but no contradiction.
func TestOtherSplitter(t *testing.T) {
	c := countRun(t, queens.Full)
	c.header.Manifest.SplitVersion++
	_, err := audit.Total(t.Context(), c.write(t))
	if err == nil || errors.Is(err, queens.ErrContradiction) || errors.Is(err, queens.ErrIncomplete) {
		t.Errorf("error %v", err)
	}
}
