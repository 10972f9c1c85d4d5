package flight

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"nqueens/pkg/coordinator/stories"
	"nqueens/pkg/queens"
)

// testManifest returns a manifest of some tasks, in classes that begin at these, with one prefix a task.
func testManifest(tasks uint64, firsts ...uint64) *queens.Manifest {
	m := &queens.Manifest{Tasks: tasks}
	for _, first := range append([]uint64{0}, firsts...) {
		m.Classes = append(m.Classes, queens.ClassPlan{Batch: 1, First: first})
	}
	return m
}

// newTest returns a flight whose tasks are equal parts of the work. Its chunks have the ids 1, 2, 3.
func newTest(m *queens.Manifest) *Flight {
	ids := uint64(0)
	parts := make([]float64, len(m.Classes))
	for i := range parts {
		parts[i] = 1 / float64(m.Tasks)
	}
	return New(Config{Manifest: m, Parts: parts, CheckAfter: 15 * time.Second, RepublishAfter: 10 * time.Minute, NewID: func() uint64 {
		ids++
		return ids
	}})
}

// The stories of testdata are as written there: what a Flight answers to what happens.
func TestStories(t *testing.T) {
	stories.Play(t, "testdata/*.txt", func(t *testing.T) func(string) string { return newStory(t).play })
}

// story plays a Flight by lines of text. A line is a word, and then arguments name=value.
type story struct {
	t        *testing.T
	f        *Flight
	now      time.Time
	counted  map[uint64]bool // have a first count
	held     map[uint64]time.Time
	sequence uint64
	out      strings.Builder
}

func newStory(t *testing.T) *story {
	return &story{t: t, now: time.Unix(0, 0), counted: make(map[uint64]bool), held: make(map[uint64]time.Time)}
}

// arguments are those of a line.
type arguments struct {
	t     *testing.T
	line  string
	named map[string]string
}

func (a *arguments) has(name string) bool {
	_, ok := a.named[name]
	return ok
}

func (a *arguments) number(name string) uint64 {
	n, err := strconv.ParseUint(a.named[name], 10, 64)
	if err != nil {
		a.t.Fatalf("%q: %s: %v", a.line, name, err)
	}
	return n
}

func (a *arguments) duration(name string) time.Duration {
	d, err := time.ParseDuration(a.named[name])
	if err != nil {
		a.t.Fatalf("%q: %s: %v", a.line, name, err)
	}
	return d
}

// tasks returns the first and the number of tasks in an argument such as 3 or 3-5.
func (a *arguments) tasks() (first uint64, tasks int) {
	var last uint64
	if n, _ := fmt.Sscanf(a.named["tasks"], "%d-%d", &first, &last); n == 0 {
		a.t.Fatalf("%q: tasks", a.line)
	}
	return first, int(max(last, first)-first) + 1
}

func (s *story) printf(format string, args ...any) { fmt.Fprintf(&s.out, format, args...) }

func (s *story) play(line string) string {
	words := strings.Fields(line)
	a := &arguments{s.t, line, make(map[string]string)}
	for _, word := range words[1:] {
		name, value, _ := strings.Cut(word, "=")
		a.named[name] = value
	}
	s.out.Reset()
	if !s.playRun(words[0], a) && !s.playOutcome(words[0], a) && !s.playResult(words[0], a) && !s.playWorker(words[0], a) {
		s.t.Fatalf("no line begins with %q", words[0])
	}
	return s.out.String()
}

// playRun plays the lines for the run as a whole.
func (s *story) playRun(word string, a *arguments) bool {
	switch word {
	case "new": // tasks=12 [class=6]: a run of two classes
		var firsts []uint64
		if a.has("class") {
			firsts = append(firsts, a.number("class"))
		}
		s.f = newTest(testManifest(a.number("tasks"), firsts...))
	case "speed": // chunk=4: chunks of so many tasks, if enough are left
		tasks := s.f.cfg.Manifest.Tasks
		s.f.guide.results = int(a.number("chunk"))
		s.f.guide.results *= firstResults
		s.f.guide.speed = float64(a.number("chunk")) / float64(tasks) / 1.5
		s.f.guide.left = 1e9
	case "fill":
		s.f.Fill(0, func(task uint64) bool { return !s.counted[task] })
	case "run": // execute all commands but checks, which stay outstanding
		for cmd, ok := s.f.Next(); ok; cmd, ok = s.f.Next() {
			s.print(cmd)
			switch cmd.Op {
			case Publish:
				s.publish(cmd.Chunk)
			case Delete:
				s.f.Deleted(s.now, cmd.Chunk)
			case Check:
			}
		}
	case "next": // take the next command; its outcome comes later
		if cmd, ok := s.f.Next(); ok {
			s.print(cmd)
		}
	case "wait": // for=15s
		s.now = s.now.Add(a.duration("for"))
	case "state":
		s.printf("%s", s.f.State(s.now))
	default:
		return false
	}
	return true
}

func (s *story) print(cmd Command) {
	s.printf("%v chunk %d: %s", cmd.Op, cmd.Chunk, span(cmd.First, cmd.Tasks))
	if cmd.Suspect {
		s.printf(", suspect")
	}
	s.printf("\n")
}

func (s *story) publish(chunk uint64) {
	s.sequence++
	s.f.Published(s.now, chunk, s.sequence)
}

// playOutcome plays the outcomes of commands.
func (s *story) playOutcome(word string, a *arguments) bool {
	switch word {
	case "published":
		s.publish(a.number("chunk"))
	case "checked": // chunk=1 missing|queued|taken
		s.f.Checked(s.now, a.number("chunk"), s.now, !a.has("missing"), a.has("taken"))
	case "failed":
		s.f.CheckFailed(s.now, a.number("chunk"))
	case "deleted":
		s.f.Deleted(s.now, a.number("chunk"))
	default:
		return false
	}
	return true
}

// playResult plays what results tell.
func (s *story) playResult(word string, a *arguments) bool {
	switch word {
	case "returned": // chunk=1 tasks=0-3: a worker has reported these tasks; or none
		if a.has("none") {
			first, _ := s.f.Chunk(a.number("chunk"))
			s.f.Returned(s.now, a.number("chunk"), first, 0)
			break
		}
		first, tasks := a.tasks()
		s.f.Returned(s.now, a.number("chunk"), first, tasks)
	case "counted", "settled": // tasks=0-3: they have a first count; or need no further one
		first, tasks := a.tasks()
		for id := first; id < first+uint64(tasks); id++ {
			s.counted[id] = true
			if word == "settled" {
				s.f.Settled(s.now, id)
			}
		}
	case "again":
		s.f.Again(a.tasks())
	case "void": // tasks=3: their first counts became void
		first, tasks := a.tasks()
		for id := first; id < first+uint64(tasks); id++ {
			s.counted[id] = false
			s.f.Reopen(id)
		}
	default:
		return false
	}
	return true
}

// playWorker plays what is known of workers.
func (s *story) playWorker(word string, a *arguments) bool {
	switch word {
	case "holds": // chunk=1: a heartbeat names it now
		s.held[a.number("chunk")] = s.now
	case "silent":
		delete(s.held, a.number("chunk"))
	case "sweep": // [idle | nobody] [read=1s]: all results were read so long ago
		read := s.now
		if a.has("read") {
			read = read.Add(-a.duration("read"))
		}
		workers := Busy
		switch {
		case a.has("idle"):
			workers = Idle
		case a.has("nobody"):
			workers = Nobody
		}
		swept := s.f.Sweep(s.now, s.held, workers, read)
		for _, lost := range swept.Lost {
			s.printf("lost: %s, attempt %d\n", span(lost.First, lost.Tasks), lost.Attempt)
		}
		for _, expired := range swept.Expired {
			s.printf("expired: %s, attempt %d\n", span(expired.First, expired.Tasks), expired.Attempt)
		}
		if swept.Away > 0 {
			s.printf("away: %d\n", swept.Away)
		}
	case "lost": // chunk=1 worker=key/name [unknown]
		key, name, _ := strings.Cut(a.named["worker"], "/")
		for _, dead := range s.f.Lost(s.now, a.number("chunk"), Loss{key, name, !a.has("unknown")}) {
			s.printf("dead-lettered: task %d, after %s\n", dead.Task, strings.Join(dead.Workers, " "))
		}
	case "dead-letter": // tasks=3
		task, _ := a.tasks()
		s.f.DeadLetter(s.now, task)
	case "withdraw":
		s.f.Withdraw(a.number("chunk"))
	case "obsolete": // chunks=1,2: which are, if heartbeats name them now?
		obsolete := slices.DeleteFunc(strings.Split(a.named["chunks"], ","), func(text string) bool {
			id, err := strconv.ParseUint(text, 10, 64)
			return err != nil || !s.f.IsObsolete(id, s.now)
		})
		s.printf("obsolete: %s\n", cmp.Or(strings.Join(obsolete, ","), "none"))
	case "count-alone": // [wait]: which task must the coordinator count?
		if task, found := s.f.NextLost(a.has("wait"), none, none); found {
			s.printf("task %d\n", task)
		} else {
			s.printf("none\n")
		}
	default:
		return false
	}
	return true
}
