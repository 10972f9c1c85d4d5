package audit

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"nqueens/pkg/ledger"
	"nqueens/pkg/run"
)

// made creates the ledger of a run of that many tasks whose results result makes, without counting. Nobody
// signed them.
func made(t *testing.T, tasks uint64, result func(*run.Result)) *ledger.Ledger {
	t.Helper()
	m, _ := run7(t)
	m.Tasks = tasks
	l, err := ledger.Create(filepath.Join(t.TempDir(), "r"), ledger.Header{Run: "r", Created: time.Now(), Manifest: m, Trust: ledger.Trust{Redundancy: 1}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	var results []run.Result
	for task := range tasks {
		r := run.Result{Run: "r", Task: task, Attempt: 1, Worker: "w", Kernel: "k", Elapsed: time.Second}
		result(&r)
		results = append(results, r)
	}
	if _, err := l.Accept(results, 0, run.StreamPosition{}); err != nil {
		t.Fatal(err)
	}
	return l
}

// The contributions of workers and of kernels are those of all accepted results, and agree with what the result of a
// run says.
func TestSurvey(t *testing.T) {
	const tasks = 10_000
	l := made(t, tasks, func(r *run.Result) {
		r.Worker = fmt.Sprintf("w%d", r.Task%3)
		r.Elapsed = time.Duration(r.Task%3+1) * time.Millisecond
		switch r.Task % 1000 {
		case 0:
			r.Worker, r.Kernel = run.Checker, "generic"
		case 1:
			r.Worker, r.Kernel = run.Referee, "generic"
		}
	})
	s := Survey(l)
	if s.Done != tasks || s.Redundancy != 1 || s.State != run.Running {
		t.Errorf("%d tasks, in the state %s", s.Done, s.State)
	}
	workers, coreTime := len(l.Figures().Workers()), l.Figures().CoreTime()
	for name, list := range map[string][]run.Contribution{"workers": s.Contributions, "kernels": s.Kernels} {
		var sum run.Contribution
		names := make(map[string]bool)
		for i, c := range list {
			sum.Add(&c)
			if c.Worker != run.Referee && c.Worker != run.Checker {
				names[c.Worker] = true
			}
			if i > 0 && c.CoreTime.Duration > list[i-1].CoreTime.Duration {
				t.Errorf("the %s are not sorted: %v", name, list)
			}
		}
		if sum.Tasks != tasks || sum.CoreTime.Duration != coreTime || s.CoreTime != coreTime {
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
	l := made(t, tasks, func(r *run.Result) { r.Worker, r.Kernel = fmt.Sprint("w", r.Task), fmt.Sprint("k", r.Task) })
	s := Survey(l)
	if len(s.Contributions) != run.MaxSurveyed || len(s.Kernels) != run.MaxSurveyed || s.OtherWorkers != 2*run.MaxSurveyed || s.OtherKernels != 2*run.MaxSurveyed ||
		s.Others.Tasks != 2*run.MaxSurveyed || s.Others.CoreTime.Duration != 2*run.MaxSurveyed*time.Second {
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
	lie := sign(t, &m, newIdentity(t), []run.Result{wrong})
	own := results[0]
	own.Worker = run.Referee
	if _, err := l.Accept([]run.Result{lie[0], own}, 0, run.StreamPosition{Sequence: 1}); err != nil {
		t.Fatal(err)
	}
	if err := l.Quarantine(run.QuarantinedKey{Key: lie[0].Key, Reason: "task 0", At: time.Unix(5, 0)}); err != nil {
		t.Fatal(err)
	}
	for l.IsRevoking() {
		if _, _, err := l.Revoke(); err != nil {
			t.Fatal(err)
		}
	}
	s := Survey(l)
	if s.DisputeCount != 1 || len(s.Disputes) != 1 || s.QuarantinedCount != 1 || s.Quarantined[0].Key != lie[0].Key || s.Quarantined[0].Reason != "task 0" {
		t.Fatalf("the disputes are %+v, the quarantined keys %+v", s.Disputes, s.Quarantined)
	}
	said := func(results []run.Result) (all string) {
		for _, r := range results {
			all += fmt.Sprintln(r.Count, r.Worker, r.Key, r.Kernel)
		}
		return all
	}
	own.Key = ""
	d := s.Disputes[0]
	if d.Task != 0 || !d.Settled || d.Accepted != right[0].Count || said(d.Votes) != said([]run.Result{right[0], own}) || said(d.Revoked) != said(lie[:1]) {
		t.Errorf("the dispute is %+v", d)
	}
}
