package core

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"nqueens/pkg/queens"
	"nqueens/pkg/testkit"
)

// The stories of testdata/queue.txt are the specification of the queue. The lines below an input
// say what the queue returned, what waits then, and what is held.
func TestQueueStories(t *testing.T) {
	testkit.Stories(t, "testdata/queue.txt",
		func(t *testing.T, out *strings.Builder) func(words []string) {
			return (&queueStory{t: t, out: out, by: map[uint64]queens.Witness{}}).input
		})
}

type queueStory struct {
	t   *testing.T
	out *strings.Builder
	q   *queue
	by  map[uint64]queens.Witness // that has counted each task
}

func (s *queueStory) input(words []string) {
	q, args := s.q, words[1:]
	say := func(format string, values ...any) { fmt.Fprintf(s.out, format+"\n", values...) }
	switch words[0] {
	case "queue": // TASKS...: the number of tasks of each class; all wait
		var ends []uint64
		all := uint64(0)
		for _, arg := range args {
			all += number(s.t, arg)
			ends = append(ends, all)
		}
		s.q = newQueue(ends)
		s.q.wait(queens.Range{Tasks: all}, queens.Witness{})
	case "take": // MACHINE/PROCESS TASKS
		r, ok := q.take(0, process(args[0]), func(int) uint64 { return number(s.t, args[1]) })
		if !ok {
			say("nothing")
			break
		}
		say("%s takes %s", args[0], r)
	case "list": // MACHINE/PROCESS RANGE: a request lists it, as after a restart
		p := process(args[0])
		h := q.hold(0, p, rangeOf(s.t, args[1]), func(task uint64) bool {
			waits := slices.ContainsFunc(slices.Collect(maps.Values(q.groups)), func(set *group) bool {
				return set.has(task)
			})
			q.removeTask(task, s.by[task])
			return (waits || q.held(task)) && s.by[task] != p.Machine.Witness()
		})
		if h == nil {
			say("nothing")
			break
		}
		say("%s holds %d tasks of %s", args[0], h.left, h.Range)
	case "release", "lose": // MACHINE/PROCESS RANGE
		h := q.holds[process(args[0])][rangeOf(s.t, args[1])]
		for _, task := range q.release(h, words[0] == "lose") {
			q.wait(queens.Range{First: task, Tasks: 1}, s.by[task])
		}
	case "count": // MACHINE RANGE: its tasks need another count
		r := rangeOf(s.t, args[1])
		for task := r.First; task < r.End(); task++ {
			s.by[task] = testkit.Machine(args[0]).Witness()
			for _, h := range q.move(task, s.by[task], true) {
				say("the hold %s of %s ends", h.Range, h.holder.Machine)
			}
		}
	case "done": // RANGE
		r := rangeOf(s.t, args[0])
		for task := r.First; task < r.End(); task++ {
			for _, h := range q.move(task, queens.Witness{}, false) {
				say("the hold %s of %s ends", h.Range, h.holder.Machine)
			}
		}
	default:
		s.t.Fatalf("unknown input %q", words[0])
	}
	s.show()
}

// show writes what waits and what is held.
func (s *queueStory) show() {
	var lines []string
	for by, set := range s.q.groups {
		line := "wait " + fmt.Sprint([]queens.Range(set.ranges))
		if by != (queens.Witness{}) {
			line += " counted by " + by.User + by.Machine
		}
		lines = append(lines, line)
	}
	slices.Sort(lines)
	for _, p := range slices.SortedFunc(maps.Keys(s.q.holds), compareProcesses) {
		line := p.Machine.String() + "/" + p.Name + " holds"
		for _, h := range s.q.holdsOf(p) {
			line += fmt.Sprintf(" %d of %s", h.left, h.Range)
		}
		lines = append(lines, line)
	}
	fmt.Fprintln(s.out, strings.Join(lines, "\n"))
}

// If workers have lost many tasks, a task that is lost then is known to be lost as soon as another
// one leaves the queue.
func TestManyLosses(t *testing.T) {
	q := newQueue([]uint64{2 * mostLost})
	q.wait(queens.Range{Tasks: 2 * mostLost}, queens.Witness{})
	p := process("a/1")
	lose := func(tasks uint64) queens.Range {
		r, _ := q.take(0, p, func(int) uint64 { return tasks })
		q.release(q.holds[p][r], true)
		return r
	}
	for len(q.losses) < mostLost {
		lose(1 << 12)
	}
	lose(1 << 12)
	if len(q.losses) != mostLost {
		t.Errorf("%d tasks are known to be lost", len(q.losses))
	}
	q.move(0, queens.Witness{}, false)
	last := lose(1)
	if _, known := q.losses[last.First]; !known || len(q.losses) != mostLost {
		t.Errorf("the loss of task %v is known: %v", last, known)
	}
}
