package agreement_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"nqueens/pkg/coordinator/agreement"
	"nqueens/pkg/coordinator/memledger"
	"nqueens/pkg/coordinator/stories"
	"nqueens/pkg/run"
)

// The stories of testdata are as written there: what an Agreement orders when something happens.
func TestStories(t *testing.T) {
	stories.Play(t, "testdata/*.txt", func(t *testing.T) func(string) string {
		s := &story{t: t, begun: time.Unix(0, 0), now: time.Unix(0, 0)}
		return s.play
	})
}

// story plays an Agreement and a ledger in memory by lines of text. A line is a word, and then arguments, of which
// some are name=value.
type story struct {
	t          *testing.T
	cfg        agreement.Config
	a          *agreement.Agreement
	l          *memledger.Ledger
	begun, now time.Time
	longest    time.Duration // search
	voters     []string      // connected
	out        strings.Builder
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

// duration returns a duration, or the given one.
func (a *arguments) duration(name string, other time.Duration) time.Duration {
	if !a.has(name) {
		return other
	}
	d, err := time.ParseDuration(a.named[name])
	if err != nil {
		a.t.Fatalf("%q: %s: %v", a.line, name, err)
	}
	return d
}

func (s *story) play(line string) string {
	words := strings.Fields(line)
	a := &arguments{s.t, line, make(map[string]string)}
	for _, word := range words[1:] {
		name, value, _ := strings.Cut(word, "=")
		a.named[name] = value
	}
	s.out.Reset()
	switch words[0] {
	case "new":
		s.begin(a)
	case "voters": // a b: these are connected, and no others
		s.voters = words[1:]
		s.connect()
	case "count": // task=0 by=a value=92 [stranger] [took=1s]: a worker reports a count; a stranger is not admitted
		s.count(a)
	case "own": // task=0 value=92 [took=1s], or task=0 failed, or task=0 too-long: the coordinator's count has ended
		s.own(a)
	case "wait": // for=1s
		s.now = s.now.Add(a.duration("for", 0))
		s.a.Tick(s.now, s.now.Sub(s.begun), s.longest, s.l.IsRevoking())
	case "void": // what quarantined keys have counted becomes void
		for s.l.IsRevoking() {
			for _, id := range s.l.Revoke() {
				s.a.Voided(s.now, id, s.l.Standing(id), s.l.Dispute(id))
			}
		}
	case "withdraw": // task=0: no worker gets it any more
		s.a.Withdrawn(s.now, a.number("task"))
	case "restart": // another coordinator goes on
		s.restart()
	case "state":
		s.state()
	case "ledger":
		s.out.WriteString(s.l.String())
	default:
		s.t.Fatalf("no line begins with %q", words[0])
	}
	s.carryOut()
	return s.out.String()
}

// begin begins a run: tasks=2 [redundancy=2] [share=1] [auto] [referee] [checks] [patience=30s].
func (s *story) begin(a *arguments) {
	s.cfg = agreement.Config{
		Manifest: lifeManifest(a.number("tasks")), Redundancy: 1, Bounded: a.has("auto"), Referee: a.has("referee"),
		Patience: a.duration("patience", 30*time.Second),
	}
	if a.has("redundancy") {
		s.cfg.Redundancy = int(a.number("redundancy"))
	}
	if a.has("share") {
		s.cfg.Share = float64(a.number("share"))
	}
	if a.has("checks") {
		s.cfg.CheckThreads, s.cfg.EndThreads = 1, 2
	}
	s.a, s.l = agreement.New(s.cfg), memledger.New(int(s.cfg.Manifest.Tasks), s.cfg.Redundancy)
}

func (s *story) restart() {
	s.a = agreement.New(s.cfg)
	all := s.cfg.Manifest.Tasks
	for id := range all {
		s.a.Load(id, s.l.Standing(id), false)
	}
	for id := range all {
		if d := s.l.Dispute(id); d != nil {
			s.a.LoadDispute(s.now, id, s.l.Standing(id), d)
		}
	}
	for id := range all {
		if s.l.Standing(id).Counted && s.a.State(id) == agreement.Open {
			s.a.LoadLacking(s.now, id, s.l.Supporters(id))
		}
	}
	s.connect()
}

// connect tells the Agreement which voters are connected and not quarantined.
func (s *story) connect() {
	var voters []string
	for _, v := range s.voters {
		if !s.l.IsQuarantined(v) {
			voters = append(voters, v)
		}
	}
	s.a.Connected(s.now, voters)
}

func (s *story) count(a *arguments) {
	by := a.named["by"]
	s.accept(&run.Result{
		Task: a.number("task"), Count: a.number("value"), Worker: by, Key: by, Admitted: !a.has("stranger"), Kernel: "avx2",
		Elapsed: a.duration("took", time.Second),
	})
}

// own ends a count that the coordinator was ordered to make.
func (s *story) own(a *arguments) {
	id := a.number("task")
	failure, took := agreement.NotTried, a.duration("took", time.Second)
	switch {
	case a.has("failed"):
		failure = agreement.Failed
	case a.has("too-long"):
		failure = agreement.TooLong
	}
	worker := run.Referee
	if s.a.State(id) == agreement.CheckOwn {
		worker = run.Checker
		s.a.CheckEnded(id, took, failure != agreement.NotTried)
	} else {
		s.a.RefereeEnded(s.now, id, a.has("unlimited"), failure)
	}
	if failure == agreement.NotTried {
		s.accept(&run.Result{Task: id, Count: a.number("value"), Worker: worker, Kernel: "generic", Elapsed: took})
	}
}

func (s *story) accept(r *run.Result) {
	s.longest = max(s.longest, r.Elapsed)
	c := s.l.Accept(r)
	s.a.Counted(s.now, &c)
}

func (s *story) state() {
	for id := range s.cfg.Manifest.Tasks {
		fmt.Fprintf(&s.out, "task %d is %s\n", id, s.a.State(id))
	}
	s.out.WriteString(s.a.Dump(s.now))
}

// carryOut prints the commands, and carries out those that need nobody else.
func (s *story) carryOut() {
	for commands := s.a.Commands(); len(commands) > 0; commands = s.a.Commands() {
		for _, o := range commands {
			s.carryOutOne(&o)
		}
	}
}

func (s *story) carryOutOne(o *agreement.Command) {
	switch o.Op {
	case agreement.Settle:
		fmt.Fprintf(&s.out, "task %d is settled\n", o.Task)
	case agreement.Reopen:
		fmt.Fprintf(&s.out, "task %d needs its first count again\n", o.Task)
	case agreement.Again:
		fmt.Fprintf(&s.out, "task %d is to be counted again\n", o.Task)
	case agreement.Referee:
		limit := ", for a short time"
		if o.Unlimited {
			limit = ", however long it takes"
		}
		fmt.Fprintf(&s.out, "the coordinator is to count task %d, with another kernel than %s%s\n", o.Task, strings.Join(o.Kernels, " and "), limit)
	case agreement.Check:
		fmt.Fprintf(&s.out, "the coordinator is to check task %d, with another kernel than %s\n", o.Task, strings.Join(o.Kernels, " and "))
	case agreement.Look:
		s.a.Seen(o.Task, s.l.Supporters(o.Task))
	case agreement.Quarantine:
		if !s.l.IsQuarantined(o.Vote.Key) {
			fmt.Fprintf(&s.out, "%s is quarantined: it counted %d in task %d, which has %d\n", o.Vote.Key, o.Vote.Count, o.Task, o.Right)
			s.l.Quarantine(o.Vote.Key)
			s.connect()
		}
	case agreement.Opened:
		fmt.Fprintf(&s.out, "task %d is in dispute\n", o.Task)
	case agreement.Outvoted:
		fmt.Fprintf(&s.out, "task %d has another count that lost\n", o.Task)
	case agreement.Closed:
		fmt.Fprintf(&s.out, "the dispute about task %d is over\n", o.Task)
	}
}
