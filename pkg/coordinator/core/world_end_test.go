package core

import (
	"bytes"
	"errors"
	"io"
	"slices"

	"nqueens/pkg/ledger"
	"nqueens/pkg/queens"
)

// These rules hold for the end of a simulated life. A function that checks one rule has the name of
// what must hold.

// checkEnd checks how the run has ended, by the log on the disk.
func (w *world) checkEnd() {
	if w.failure != "" {
		return
	}
	state, notes, err := ledger.Fold(
		io.NewSectionReader(bytes.NewReader(w.disk), 0, int64(len(w.disk))), "the world's")
	if err != nil || notes.Torn > 0 {
		w.fail("the log of the end can't be read: %v", err)
		return
	}
	w.receiptsAreKept(state)
	switch w.end.State {
	case queens.Complete:
		w.logIsComplete(state)
		w.totalIsRight()
		w.tasksAreDone(state)
		w.countsAreRight(state)
		w.witnessesSuffice(state)
		w.someTaskIsChecked(state)
		w.redundancyConfirms(state)
	case queens.Contradicted:
		w.noTotalIsShown(state)
		w.contradictionIsReal()
	default:
		w.stopHasItsReason(state)
	}
}

// logIsComplete checks that a complete run is complete on the disk, and that its coordinator's
// machine counts right.
func (w *world) logIsComplete(state *ledger.State) {
	if state.Banned(w.own()) {
		w.fail("the run is complete on a machine that is banned")
	}
	if state.Ended() != queens.Complete {
		w.fail("the run is complete, but its log says %q", state.Ended())
	}
}

// totalIsRight checks the total of a run in which wrong counts must be found, or whose total is
// published.
func (w *world) totalIsRight() {
	if (w.mustBeExact() || w.setup.published) && w.end.Total.Cmp(w.total) != 0 {
		w.fail("the total is %v, not %v", w.end.Total, w.total)
	}
}

// tasksAreDone checks that a complete run has a count of each task.
func (w *world) tasksAreDone(state *ledger.State) {
	for task := range w.truth {
		if !state.Task(uint64(task)).Done {
			w.fail("the run is complete without task %d", task)
		}
	}
}

// countsAreRight checks the count of each task of a run in which wrong counts must be found.
func (w *world) countsAreRight(state *ledger.State) {
	for task, truth := range w.truth {
		if count := state.Task(uint64(task)).Count; w.mustBeExact() && count != truth {
			w.fail("task %d has the wrong count %d", task, count)
		}
	}
}

// witnessesSuffice checks that as many witnesses as the redundancy says have counted each task that
// has no verdict.
func (w *world) witnessesSuffice(state *ledger.State) {
	for task := range w.truth {
		if state.Task(uint64(task)).Verdict {
			continue
		}
		witnesses := map[queens.Witness]bool{}
		for _, c := range state.Counts(uint64(task)) {
			if !c.Recount && !state.Banned(c.Machine) {
				witnesses[c.Machine.Witness()] = true
			}
		}
		if len(witnesses) < w.setup.redundancy {
			w.fail("task %d is done by %v", task, witnesses)
		}
	}
}

// someTaskIsChecked checks that a run with spot checks, whose total is not published, has checked
// one task at least.
func (w *world) someTaskIsChecked(state *ledger.State) {
	if w.header.Redundancy == 1 && w.setup.spot > 0 && !w.setup.published && !w.damaged &&
		len(w.truth) > 0 && state.Checked() == 0 {
		w.fail("nothing was checked")
	}
}

// redundancyConfirms checks that a redundancy confirms every task.
func (w *world) redundancyConfirms(state *ledger.State) {
	if c := state.Confirmation(nil); w.header.Redundancy > 1 && c.Checked != c.Tasks {
		w.fail("%d of %d tasks are confirmed", c.Checked, c.Tasks)
	}
}

// noTotalIsShown checks that nobody sees the total of a contradicted run.
func (w *world) noTotalIsShown(state *ledger.State) {
	if s := state.Snapshot(1); s.Solutions != nil || s.NoTotal() == "" {
		w.fail("a contradicted run shows %s solutions", s.Solutions)
	}
}

// contradictionIsReal checks that a run is contradicted only by a published total, and only if
// wrong counts may stay unnoticed.
func (w *world) contradictionIsReal() {
	if !w.setup.published || w.mustBeExact() {
		w.fail("the run ends with a contradiction: %v", w.end.Err)
	}
}

// stopHasItsReason checks that a run ends incomplete only if it can't go on: the kernels of its
// machine die, or its only machine counts wrong or recounts wrong.
func (w *world) stopHasItsReason(state *ledger.State) {
	dies := w.setup.dying["all"] || w.setup.dying[generic]
	countsWrong := state.Banned(w.own()) && w.setup.machines[0].lies != honest
	recountsWrong := w.setup.wrong != "" && len(state.Unsettled()) > 0
	if !errors.Is(w.end.Err, queens.ErrIncomplete) ||
		!dies && !(w.setup.alone && (countsWrong || recountsWrong)) {
		w.fail("the run ends with %v", w.end.Err)
	}
}

// mustBeExact reports whether every wrong count must be found: too few witnesses agree on a lie,
// and none lies at redundancy 1.
func (w *world) mustBeExact() bool {
	agree := map[queens.Witness]bool{}
	for _, m := range w.setup.machines {
		if m.lies == agreeing {
			agree[m.id().Witness()] = true
		}
	}
	return len(agree) < w.setup.redundancy && (w.setup.redundancy > 1 || !w.hasLiar())
}

// isWrong reports whether a machine gives wrong counts or wrong recounts.
func (w *world) isWrong(m queens.Machine) bool {
	first := queens.Machine{User: queens.CoordinatorUser, Name: w.setup.machines[0].name}
	return w.machine(m).lies != honest || w.setup.wrong != "" && m == first
}

func (w *world) hasLiar() bool {
	return slices.ContainsFunc(w.setup.machines, func(m machine) bool { return m.lies != honest })
}

func (w *world) machine(id queens.Machine) *machine {
	for i := range w.setup.machines {
		if w.setup.machines[i].id() == id {
			return &w.setup.machines[i]
		}
	}
	return &machine{}
}
