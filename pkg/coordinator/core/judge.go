package core

import (
	"slices"

	"nqueens/pkg/ledger"
	"nqueens/pkg/queens"
)

// need is what a task needs. The ledger says which tasks are done and which counts differ; the rest
// is decided here.
type need byte

const (
	needNothing need = iota // it is done
	needCount               // it needs a count by one more witness
	needCheck               // it is done, and needs a count by a second witness
	// it needs a recount, because its counts differ or because its recount needs a second one
	needRecount
)

// byWorker reports whether a task needs a count by a worker.
func (n need) byWorker() bool { return n == needCount || n == needCheck }

// lostAlone is how often workers must lose a task that is alone in its chunk before the coordinator
// counts it itself. One machine whose worker dies and starts again may lose it each time, so a run
// with a single machine ends too.
const lostAlone = 3

// generic is the kernel that counts every board on every machine.
const generic = "generic"

// judge decides what tasks need, and how the coordinator recounts them.
type judge struct {
	state     *ledger.State
	draw      draw
	counted   map[queens.Machine]uint64 // by machine: how many tasks it has counted
	checks    map[uint64]bool           // tasks that need a second count, as a spot check
	unsettled map[uint64]bool           // tasks that need a recount
	machine   string                    // the coordinator's machine, which recounts
	kernels   []string                  // kernels that can recount, the fastest first
	running   *Attempt                  // nil if none runs
	died      []Attempt                 // failed recounts of the task that is recounted now
}

func newJudge(state *ledger.State, machine string, kernels []string) *judge {
	h := state.Header()
	j := &judge{state: state, machine: machine, kernels: kernels, draw: draw{seed: h.Secret}}
	if h.Redundancy == 1 {
		j.draw.share = h.SpotCheck
	}
	j.load()
	return j
}

// load derives three maps from the ledger.
func (j *judge) load() {
	j.counted, j.checks, j.unsettled = map[queens.Machine]uint64{}, map[uint64]bool{},
		map[uint64]bool{}
	for _, task := range j.state.Unsettled() {
		j.unsettled[task] = true
	}
	if j.draw.share == 0 {
		return
	}
	for task := range j.state.Header().Manifest.Tasks {
		if by := j.state.Counter(task); by != (queens.Machine{}) {
			j.counts(by, task)
			if j.checks[task] {
				j.update(task)
			}
		}
	}
}

// counts notes that a machine has counted a task. In a run with spot checks, the task gets a check
// if it is drawn, or if it is the one of the machine's first counts that is drawn for the machine.
func (j *judge) counts(machine queens.Machine, task uint64) {
	j.counted[machine]++
	if j.draw.share == 0 {
		return
	}
	n := j.counted[machine]
	if n <= firstChecks && n == j.draw.first(machine.String()) || j.draw.has(task) {
		j.checks[task] = true
	}
}

// voided notes that counts of a task are void. A check of one of them proves nothing more. Another
// count that the task has may need a check.
func (j *judge) voided(task uint64) {
	if j.draw.share == 0 {
		return
	}
	delete(j.checks, task)
	if by := j.state.Counter(task); by != (queens.Machine{}) {
		j.counts(by, task)
	}
}

// update returns what a task needs after its records have changed.
func (j *judge) update(task uint64) need {
	if outcome := j.state.Task(task); outcome.Checked() {
		delete(j.checks, task)
	}
	need := j.need(task)
	if need == needRecount {
		j.unsettled[task] = true
	} else {
		delete(j.unsettled, task)
	}
	return need
}

// need returns what a task needs.
func (j *judge) need(task uint64) need {
	outcome := j.state.Task(task)
	switch {
	case outcome.NeedsRecount:
		return needRecount
	case !outcome.Done:
		return needCount
	case j.checks[task]:
		return needCheck
	}
	return needNothing
}

// news reports whether to record a count of a task by a machine, which is not banned. The first
// count by its witness is recorded, unless the task needs nothing and has the same count. The
// second count is recorded if it differs from the first. For a third different count, tooMany is
// true. Void counts, which are those of banned machines of the witness, do not matter. A task that
// needs no count by a worker gets at most mostCounts.
func (j *judge) news(machine queens.Machine, task, count uint64) (isNew, tooMany bool) {
	var own []uint64 // different counts by the witness
	for _, c := range j.state.Counts(task) {
		if c.Machine.Witness() == machine.Witness() && !c.Void && !c.Recount &&
			!slices.Contains(own, c.Count) {
			own = append(own, c.Count)
		}
	}
	if len(own) > 0 {
		differs := !slices.Contains(own, count)
		return differs && len(own) < 2, differs && len(own) >= 2
	}
	need := j.need(task)
	if !need.byWorker() && len(j.state.Counts(task)) >= mostCounts {
		return false, false
	}
	return need != needNothing || count != j.state.Task(task).Count, false
}

// mostCounts bounds the counts of a task that needs no count by a worker: the coordinator's
// recounts settle it.
const mostCounts = 64

// lowest returns the lowest task that needs a recount, if there is one.
func (j *judge) lowest() (task uint64, found bool) {
	for t := range j.unsettled {
		if !found || t < task {
			task, found = t, true
		}
	}
	return task, found
}

// isDispute reports whether a task needs a recount and has counts by workers.
func (j *judge) isDispute(task uint64) bool {
	return j.unsettled[task] && slices.ContainsFunc(j.state.Counts(task), func(c ledger.Count) bool {
		return !c.Recount
	})
}

// ways returns the ways to recount a task, the best first. A kernel that no worker has used for the
// task comes before one that a worker may have used, and then the faster one before the slower.
func (j *judge) ways(task uint64, counts []ledger.Count, why ledger.Why) (ways []Attempt) {
	isUsed := func(kernel string) bool {
		return slices.ContainsFunc(counts, func(c ledger.Count) bool {
			return c.Kernel == kernel && !c.Recount
		})
	}
	for _, kernel := range j.kernels {
		if kernel != generic && !isUsed(kernel) {
			ways = append(ways, Attempt{task, kernel, false, why})
		}
	}
	ways = append(ways, Attempt{task, generic, false, why})
	if j.state.Header().Manifest.Method == queens.Prefixes {
		return append(ways, Attempt{task, generic, true, why})
	}
	plain := Attempt{task, queens.HalvesPrefix + generic, false, why}
	if isUsed(plain.Kernel) {
		return append(ways, plain)
	}
	return slices.Insert(ways, 0, plain) // depth-first search takes longer
}

// way returns how to recount a task: by the first of its ways whose search was not used, or else by
// the first whose search was used on other machines only: see [ledger.Search]. It returns nil if
// this machine has tried every way: each gave a recount, or its child process died.
func (j *judge) way(task uint64, why ledger.Why) *Attempt {
	counts, method := j.state.Counts(task), j.state.Header().Manifest.Method
	ways := j.ways(task, counts, why)
	var elsewhere *Attempt
	for i := range ways {
		w := &ways[i]
		search := ledger.Search(method, w.Kernel, w.Deeper)
		used, here := false, slices.Contains(j.died, *w)
		for _, c := range counts {
			same := c.Recount && ledger.Search(method, c.Kernel, c.Deeper) == search
			used, here = used || same, here || same && c.Machine.Name == j.machine
		}
		switch {
		case !here && !used:
			return w
		case !here && elsewhere == nil:
			elsewhere = w
		}
	}
	return elsewhere
}

// contradictsItself reports whether recounts of a task on this machine differ.
func (j *judge) contradictsItself(task uint64) bool {
	own := slices.DeleteFunc(j.state.Counts(task), func(c ledger.Count) bool {
		return !c.Recount || c.Machine.Name != j.machine
	})
	return slices.ContainsFunc(own, func(c ledger.Count) bool { return c.Count != own[0].Count })
}

// way names a way to recount.
func (r *Attempt) way() string {
	if r.Deeper {
		return r.Kernel + " one row deeper"
	}
	return r.Kernel
}
