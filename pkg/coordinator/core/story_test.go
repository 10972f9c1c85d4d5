package core

import (
	"errors"
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"testing"
	"time"

	"nqueens/pkg/ledger"
	"nqueens/pkg/queens"
	"nqueens/pkg/testkit"
)

// The stories of testdata/core_*.txt are the specification of the core. An input begins with a time
// in seconds. Until that time, the core ticks four times a second. The lines below an input are the
// commands that follow. Commands of a tick begin with its time.
func TestStories(t *testing.T) {
	testkit.Stories(t, "testdata/core_*.txt",
		func(t *testing.T, out *strings.Builder) func(words []string) {
			return (&story{t: t, out: out}).input
		})
}

// story is a core, with defaults for everything that a story does not say.
type story struct {
	t       *testing.T
	out     *strings.Builder
	header  *ledger.Header
	options Options
	core    *Core
	state   *ledger.State
	now     time.Duration
	records []ledger.Record // all records so far
	said    queens.Announcement
}

// run begins a run: run TASKS... [redundancy R] [spot SHARE] [published] [alone] [kernels K,K]
// [bytes N]. Each number is the number of tasks of a class.
func (s *story) run(words []string) {
	var classes []uint64
	s.options = Options{Instance: 1, Version: "v", At: time.Unix(1e9, 0), Machine: "home",
		Kernels: []string{"avx512", "avx2", "generic"}, ReplyBytes: 1 << 20}
	h := &ledger.Header{Format: ledger.Format, Run: "story", Redundancy: 1}
	n := queens.MaxN
	for i := 0; i < len(words); i++ {
		switch words[i] {
		case "redundancy":
			i++
			h.Redundancy = int(s.number(words[i]))
		case "spot":
			i++
			h.SpotCheck, _ = strconv.ParseFloat(words[i], 64)
		case "published":
			n = 20
		case "alone":
			s.options.Alone = true
		case "kernels":
			i++
			s.options.Kernels = strings.Split(words[i], ",")
		case "bytes":
			i++
			s.options.ReplyBytes = int(s.number(words[i]))
		default:
			classes = append(classes, s.number(words[i]))
		}
	}
	h.Manifest = testManifest(n, classes)
	s.options.Shares, s.options.TaskBytes = testShares(&h.Manifest), make([]int, len(classes))
	for i := range classes {
		s.options.TaskBytes[i] = 100
	}
	s.header = h
	s.start()
}

// testManifest returns a manifest whose classes have the given numbers of tasks.
func testManifest(n int, classes []uint64) queens.Manifest {
	m := queens.Manifest{Method: queens.Prefixes, N: n, Symmetry: queens.Full}
	for i, tasks := range classes {
		m.Classes = append(m.Classes, queens.ClassPlan{
			Class: queens.Class{Board: queens.FullBoard(n), Weight: 1 << (i % 4)}, Depth: 2, Batch: 1,
			First: m.Tasks,
		})
		m.Tasks += tasks
	}
	return m
}

// halvesManifest returns a manifest of a count by the method halves with the given number of tasks.
func halvesManifest(n int, tasks uint64) queens.Manifest {
	return queens.Manifest{
		Method: queens.Halves, N: n, Symmetry: queens.Full, Tasks: tasks,
		Classes: []queens.ClassPlan{{Class: queens.Class{Board: queens.FullBoard(n), Weight: 1},
			Batch: 1}},
	}
}

// testShares returns the shares for equal tasks: for each class, the part of the work that one of
// its tasks is.
func testShares(m *queens.Manifest) []float64 {
	shares := make([]float64, len(m.Classes))
	for i := range shares {
		shares[i] = 1 / float64(max(m.Tasks, 1))
	}
	return shares
}

// start starts a coordinator that resumes from the records.
func (s *story) start() {
	s.state = ledger.NewState(s.header)
	for _, r := range s.records {
		if _, err := s.state.Apply(r); err != nil {
			s.t.Fatal(err)
		}
	}
	s.core, s.said = New(s.now, s.state, s.options), queens.Announcement{}
	s.print(false)
}

func (s *story) input(words []string) {
	if words[0] == "run" {
		s.run(words[1:])
		return
	}
	seconds, err := strconv.ParseFloat(words[0], 64)
	at := time.Duration(seconds * float64(time.Second))
	if err != nil || at < s.now {
		s.t.Fatalf("time %q: %v", words[0], err)
	}
	verb, args := words[1], words[2:]
	if verb == "asleep" {
		s.now = at
	}
	for s.now < at {
		s.now = min(at, (s.now + time.Second/4).Truncate(time.Second/4))
		s.core.Tick(s.now)
		s.print(true)
	}
	switch verb {
	case "asleep": // no tick until then
		s.core.Tick(at)
	case "ask":
		s.core.WorkRequested(at, s.request(args))
	case "deliver":
		s.core.Delivered(at, s.delivery(args))
	case "recounted": // COUNT|fails|replaced
		s.recounted(at, args[0])
	case "total": // [wrong|fails]
		s.total(at, strings.Join(args, ""))
	case "hear": // INSTANCE RESULTS [STATE]: by default, the other coordinator is running
		a := queens.Announcement{Instance: s.number(args[0]), Recorded: s.number(args[1]),
			State: queens.Running}
		if len(args) > 2 {
			a.State = queens.State(args[2])
		}
		s.core.HeardOther(at, a)
	case "unread": // USER/MACHINE/PROCESS: a message of it is dropped
		s.core.Heard(at, process(args[0]))
	case "disconnected", "connected":
		s.core.Connected(at, verb == "connected", s.options.ReplyBytes)
	case "stop":
		s.core.Stop(at, nil)
	case "restart": // [MACHINE]: the coordinator was killed; the run is resumed on that machine
		if len(args) > 0 {
			s.options.Machine = args[0]
		}
		s.options.Instance++
		s.start()
	case "tick":
		s.core.Tick(at)
	case "show":
		snapshot := s.core.Snapshot(at)
		fmt.Fprintf(s.out, "%d done, %d wait, %d held, %d in dispute, %d checked, wall %v\n",
			snapshot.Done, snapshot.Waiting, snapshot.Held,
			snapshot.Recounting, snapshot.Checked, snapshot.Elapsed.Duration)
	case "fleet":
		s.showFleet(at)
	case "marks": // print all recorded marks
		for _, r := range s.records {
			if m, ok := r.(*ledger.Mark); ok {
				fmt.Fprintf(s.out, "mark %s: %d done, wall %v\n", m.State, m.Done, m.Wall)
			}
		}
	default:
		s.t.Fatalf("unknown input %q", verb)
	}
	s.print(false)
}

// request parses a work request:
// [USER/]MACHINE/PROCESS NUMBER WANT [RANGE[(SECONDSs)]]... [leaving] [host NAME] [connection N]
// [invalid RANGE] [seen NUMBER] [trip SECONDSs]. By default, the worker has seen the reply to its
// last request.
func (s *story) request(args []string) *Request {
	r := &Request{From: process(args[0])}
	r.WorkRequest = queens.WorkRequest{Number: s.number(args[1]), Version: "v", Kernel: "avx2",
		Want: int(s.number(args[2])), Threads: 2, Searchers: 2, Seen: s.number(args[1]) - 1}
	for i := 3; i < len(args); i++ {
		of, searched, _ := strings.Cut(args[i], "(")
		switch of {
		case "leaving":
			r.Leaving = true
		case "host":
			i++
			r.Host = args[i]
		case "connection":
			i++
			r.Connection = s.number(args[i])
		case "seen":
			i++
			r.Seen = s.number(args[i])
		case "trip":
			i++
			r.RoundTrip, _ = time.ParseDuration(args[i])
		case "invalid":
			i++
			r.Invalid = append(r.Invalid, s.rangeOf(args[i]))
		default:
			h := queens.Held{Range: s.rangeOf(of)}
			if searched != "" {
				var err error
				if h.Searched, err = time.ParseDuration(strings.TrimSuffix(searched, ")")); err != nil {
					s.t.Fatal(err)
				}
			}
			r.Held = append(r.Held, h)
		}
	}
	return r
}

// delivery parses a delivery: [USER/]MACHINE/PROCESS SECONDS KERNEL RANGE=COUNT,COUNT...: counts of
// the first tasks of a chunk, or RANGE=refused.
func (s *story) delivery(args []string) *Delivery {
	d := &Delivery{From: process(args[0])}
	searched, err := time.ParseDuration(args[1])
	if err != nil {
		s.t.Fatal(err)
	}
	for _, arg := range args[3:] {
		of, counts, _ := strings.Cut(arg, "=")
		r := CheckedResult{Result: queens.Result{Range: s.rangeOf(of), Kernel: args[2],
			Searched: searched}}
		if counts == "refused" {
			r.Refused = "its hash is wrong"
		} else {
			for _, count := range strings.Split(counts, ",") {
				r.Counts = append(r.Counts, s.number(count))
			}
		}
		r.Counted = queens.Range{First: r.First, Tasks: uint64(len(r.Counts))}
		d.Results = append(d.Results, r)
	}
	return d
}

// recounted ends the recount.
func (s *story) recounted(at time.Duration, how string) {
	switch how {
	case "fails":
		s.core.RecountDone(at, 0, errors.New("signal: killed"))
	case "replaced":
		err := fmt.Errorf("%w: the program was replaced: start it again", queens.ErrIncomplete)
		s.core.RecountDone(at, 0, err)
	default:
		s.core.RecountDone(at, s.number(how), nil)
	}
}

// total answers the command to compute the total.
func (s *story) total(at time.Duration, how string) {
	switch how {
	case "wrong":
		s.core.TotalDone(at, nil,
			fmt.Errorf("%w: the published total is another", queens.ErrContradiction))
	case "fails":
		s.core.TotalDone(at, nil, errors.New("the ledger can't be read"))
	default:
		s.core.TotalDone(at, s.state.Solutions(), nil)
	}
}

// showFleet prints what a person sees of the workers.
func (s *story) showFleet(at time.Duration) {
	snapshot := s.core.Snapshot(at)
	fmt.Fprintf(s.out, "%d machines, %d workers, %d of %d threads idle, %d recorded, %d repeated, "+
		"%d refused, %d lost\n", snapshot.Machines, snapshot.Workers,
		snapshot.IdleThreads, snapshot.Threads, snapshot.Recorded, snapshot.Repeated, snapshot.Refused,
		snapshot.Lost)
	if w := snapshot.Waits; w != nil {
		fmt.Fprintf(s.out, "%s, since %gs\n", w.Text(), w.Since.Sub(s.options.At).Seconds())
	}
	for _, w := range snapshot.WorkerList {
		banned := map[bool]string{true: ", banned"}[w.Banned]
		rate := "unknown rate"
		if w.Rate != nil {
			rate = fmt.Sprintf("%.3g solutions/s", w.PerSecond)
		}
		fmt.Fprintf(s.out, "%s: %s, %d counted, %d held, longest %v, silent %v%s\n", w.Label, rate,
			w.Tasks, w.Held, w.Longest.Duration, w.LastSeen.Duration, banned)
	}
}

// print writes the commands. If timed is true, the time stands before each of them.
func (s *story) print(timed bool) {
	c := s.core.Take()
	say := func(format string, args ...any) {
		if timed {
			fmt.Fprintf(s.out, "%gs: ", s.now.Seconds())
		}
		fmt.Fprintf(s.out, format+"\n", args...)
	}
	for _, line := range c.Log {
		say("%s", map[bool]string{false: "note", true: "warning"}[line.Warn])
	}
	s.records = append(s.records, c.Records...)
	for _, r := range c.Records {
		switch r := r.(type) {
		case *ledger.Result:
			say("record %s by %s: %v", r.Range, r.Machine, r.Counts)
		case *ledger.Dispute:
			text := fmt.Sprintf("record dispute %d:", r.Task)
			for _, c := range r.Counts {
				text += fmt.Sprintf(" %s=%d", c.Machine, c.Count)
			}
			say("%s", text)
		case *ledger.Recount:
			say("record recount %d: %d", r.Task, r.Count)
		case *ledger.Ban:
			say("record ban of %s", r.Machine)
		case *ledger.Mark:
			if r.State != queens.Running {
				say("record mark %s total %v", r.State, (*big.Int)(r.Total))
			}
		}
	}
	for _, r := range c.OnDisk.Receipts {
		say("receipts to %s/%s:%s", r.To.Machine, r.To.Name, receipts(r.Receipts))
	}
	for _, r := range c.Replies {
		text := fmt.Sprint(r.Chunks)
		if len(r.Drop) > 0 {
			text += fmt.Sprint(" drop ", r.Drop)
		}
		if r.Refused != "" {
			text += " refused: " + r.Refused
		}
		if r.Kept > 0 {
			text += fmt.Sprintf(" kept %v", r.Kept)
		}
		say("reply to %s/%s #%d %s", r.To.Machine, r.To.Name, r.Number, text)
	}
	if c.Recount != nil {
		say("recount %d by %s for %s", c.Recount.Task, c.Recount.way(), c.Recount.Why)
	}
	if c.OnDisk.Total {
		say("total")
	}
	if a := s.core.Announcement(); c.Announce && (a.State != s.said.State || a.Work != s.said.Work) {
		s.said = a
		say("announce %s, work %v", a.State, a.Work)
	}
	if c.OnDisk.End != nil {
		say("end %s: %v", c.OnDisk.End.State, c.OnDisk.End.Err)
	}
}

func receipts(list []queens.Receipt) (text string) {
	for _, r := range list {
		if r.Recorded {
			text += " recorded"
		} else {
			text += " refused (" + r.Refused + ")"
		}
	}
	return text
}

func process(text string) queens.Process {
	slash := strings.LastIndex(text, "/")
	return queens.Process{Machine: testkit.Machine(text[:slash]), Name: text[slash+1:]}
}

func (s *story) number(text string) uint64 { return number(s.t, text) }

func (s *story) rangeOf(text string) queens.Range { return rangeOf(s.t, text) }

func number(t *testing.T, text string) uint64 {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func rangeOf(t *testing.T, text string) queens.Range {
	first, last, several := strings.Cut(text, "-")
	r := queens.Range{First: number(t, first), Tasks: 1}
	if several {
		r.Tasks = number(t, last) - r.First + 1
	}
	return r
}
