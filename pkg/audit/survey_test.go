package audit

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"nqueens/pkg/ledger"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
)

// made creates the ledger of a run of that many tasks whose results result makes, without counting. Nobody
// signed them.
func made(t *testing.T, tasks uint64, result func(*queens.Result)) *ledger.Ledger {
	t.Helper()
	m, _ := run7(t)
	m.Tasks = tasks
	l, err := ledger.Create(filepath.Join(t.TempDir(), "r"), ledger.Header{Run: "r", Created: time.Now(), Manifest: m, Trust: ledger.Trust{Redundancy: 1}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	var results []queens.Result
	for task := range tasks {
		r := queens.Result{Run: "r", Task: task, Attempt: 1, Worker: "w", Kernel: "k", Elapsed: time.Second}
		result(&r)
		results = append(results, r)
	}
	if _, err := l.Accept(results, nil, run.StreamPosition{}); err != nil {
		t.Fatal(err)
	}
	return l
}

// The contributions of workers, of kernels, and the times are those of all accepted results, over several
// ranges of tasks, and agree with what the result of a run says.
func TestSurvey(t *testing.T) {
	const tasks = 3*rangeTasks + 5
	l := made(t, tasks, func(r *queens.Result) {
		r.Worker = fmt.Sprintf("w%d", r.Task%3)
		r.Elapsed = time.Duration(r.Task%3+1) * time.Millisecond
		switch r.Task % 1000 {
		case 0:
			r.Worker, r.Kernel = queens.Checker, "generic"
		case 1:
			r.Worker, r.Kernel = queens.Referee, "generic"
		}
	})
	s := Survey(t.Context(), l)
	if s.Unread != "" || s.Done != tasks || s.Times.Tasks != tasks || s.Redundancy != 1 || s.State != run.Running {
		t.Errorf("%d of %d tasks were read, in the state %s: %s", s.Times.Tasks, s.Done, s.State, s.Unread)
	}
	workers, coreTime := l.Figures().Workers(), l.Figures().CoreTime()
	for name, list := range map[string][]run.Contribution{"workers": s.Contributions, "kernels": s.Kernels} {
		var sum run.Contribution
		names := make(map[string]bool)
		for i, c := range list {
			sum.Add(c.Tasks, c.CoreTime)
			if c.Worker != queens.Referee && c.Worker != queens.Checker {
				names[c.Worker] = true
			}
			if i > 0 && c.CoreTime > list[i-1].CoreTime {
				t.Errorf("the %s are not sorted: %v", name, list)
			}
		}
		if sum.Tasks != tasks || sum.CoreTime != coreTime || s.Times.Total != coreTime {
			t.Errorf("the %s counted %d tasks in %v, want %d in %v", name, sum.Tasks, sum.CoreTime, tasks, coreTime)
		}
		if name == "workers" && len(names) != workers {
			t.Errorf("there are %d workers, want %d", len(names), workers)
		}
	}
	if len(s.Contributions) != 5 || len(s.Kernels) != 2 || s.Contributions[0].Worker != "w2" {
		t.Errorf("the contributions are %v, of kernels %v", s.Contributions, s.Kernels)
	}
}

// Of more workers than a table has room for, the rest is summed up, and of more kernels, it is counted.
func TestSurveyOfManyWorkers(t *testing.T) {
	const tasks = 3 * run.MaxSurveyed
	l := made(t, tasks, func(r *queens.Result) { r.Worker, r.Kernel = fmt.Sprint("w", r.Task), fmt.Sprint("k", r.Task) })
	s := Survey(t.Context(), l)
	if len(s.Contributions) != run.MaxSurveyed || len(s.Kernels) != run.MaxSurveyed || s.OtherWorkers != 2*run.MaxSurveyed || s.OtherKernels != 2*run.MaxSurveyed ||
		s.Others.Tasks != 2*run.MaxSurveyed || s.Others.CoreTime != 2*run.MaxSurveyed*time.Second {
		t.Errorf("%d workers, and %d others with %+v; %d kernels, and %d others", len(s.Contributions), s.OtherWorkers, s.Others, len(s.Kernels), s.OtherKernels)
	}
}

// The survey names both sides of a dispute, and the key that was quarantined for it.
func TestSurveyOfADispute(t *testing.T) {
	m, results := run7(t)
	l := newLedger(t, m, results)
	right, err := l.Supporters(0)
	if err != nil {
		t.Fatal(err)
	}
	wrong := results[0]
	wrong.Count, wrong.Worker = wrong.Count+1, "liar"
	lie := sign(t, &m, newIdentity(t), []queens.Result{wrong})
	own := results[0]
	own.Worker = queens.Referee
	if _, err := l.Accept([]queens.Result{lie[0], own}, nil, run.StreamPosition{Sequence: 1}); err != nil {
		t.Fatal(err)
	}
	if err := l.Quarantine(ledger.Quarantined{Key: lie[0].Key, Reason: "task 0", At: time.Unix(5, 0)}); err != nil {
		t.Fatal(err)
	}
	for l.IsVoiding() {
		if _, _, err := l.Void(); err != nil {
			t.Fatal(err)
		}
	}
	s := Survey(t.Context(), l)
	if s.DisputeCount != 1 || len(s.Disputes) != 1 || s.QuarantinedCount != 1 || s.Quarantined[0].Key != lie[0].Key || s.Quarantined[0].Reason != "task 0" {
		t.Fatalf("the disputes are %+v, the quarantined keys %+v", s.Disputes, s.Quarantined)
	}
	want := []run.Vote{
		{Count: right[0].Count, Worker: "w", Key: right[0].Key, Kernel: "k", Accepted: true},
		{Count: own.Count, Worker: queens.Referee, Kernel: "k", Accepted: true},
		{Count: wrong.Count, Worker: "liar", Key: lie[0].Key, Kernel: "k", Void: true},
	}
	d := s.Disputes[0]
	if d.Task != 0 || !d.Settled || d.More != 0 || fmt.Sprint(d.Votes) != fmt.Sprint(want) {
		t.Errorf("the dispute is %+v, want the votes %+v", d, want)
	}
}

// After a signal the ledger is read all the same. What was read before the end of a context is in the
// survey, which says why it is not all.
func TestSurveyAfterASignal(t *testing.T) {
	stopped, stop := context.WithCancelCause(t.Context())
	stop(fmt.Errorf("a signal"))
	l := made(t, 100, func(*queens.Result) {})
	if s := Survey(stopped, l); s.Unread != "" || s.Times.Tasks != 100 {
		t.Errorf("after a signal, %d tasks were read: %s", s.Times.Tasks, s.Unread)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if s := Survey(t.Context(), l); s.Done != 100 || s.Times.Tasks != 0 || !strings.Contains(s.Unread, "closed") {
		t.Errorf("of a closed ledger, %d tasks were read: %s", s.Times.Tasks, s.Unread)
	}
}
