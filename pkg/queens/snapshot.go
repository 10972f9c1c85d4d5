package queens

import (
	"cmp"
	"errors"
	"fmt"
	"math/big"
	"time"
)

// Snapshot holds the facts of a run at a moment. The log, the terminal, the page, the metrics and
// JSON all show a Snapshot. The coordinator of the run makes it. While there is no coordinator,
// packages audit and runs make it from the ledger. No count and no task depends on it. What is not
// known is nil, and is left out of JSON: it is never 0.
type Snapshot struct {
	Run      string   `json:"run"`      // name of the run
	N        int      `json:"n"`        // side of the board
	Method   Method   `json:"method"`   // "prefixes" or "halves"
	Symmetry Symmetry `json:"symmetry"` // "full", "mirror" or "none"
	// squares of the queens placed beforehand, each [row,column]
	Placed []Square  `json:"placed,omitempty"`
	State  State     `json:"state"`       // see [State]
	At     time.Time `json:"at,omitzero"` // when it was measured, in RFC 3339

	Done  uint64 `json:"done"`  // tasks that are done
	Tasks uint64 `json:"tasks"` // all tasks
	// part of the estimated work that is done; less than 100 until all tasks are done
	WorkDone Fraction `json:"percent"`
	// number of solutions found so far, weighted; null if it has no claim: see Disclaim
	Solutions *Decimal `json:"solutions"`
	// seconds that coordinators have worked on the run, without pauses
	Elapsed Seconds `json:"elapsed_s"`

	Redundancy int     `json:"redundancy"` // witnesses that must agree on each task
	SpotCheck  float64 `json:"spot_check"` // share of the tasks that one more witness counts, 0 to 1

	*Checks    // nil if only the last mark of the ledger is known
	*Live      // nil if no coordinator has said it
	*Rate      // over the last 30 s; nil while unknown
	*TimeToGo  // nil while unknown
	*Remaining // nil while unknown

	Total      *Decimal `json:"total"` // number of solutions; null unless the run is complete
	*Confirmed          // nil without a total

	WorkerList []Worker `json:"worker_list,omitempty"` // at most 50: see [Worker]
	// for what the coordinator waits; nil if it does not
	Waits *Wait `json:"waits,omitempty"`
	// what to type to start a worker; empty if no worker can join
	Join string `json:"join,omitempty"`
	// what to type to go on with a run that was stopped or interrupted
	Resume string `json:"resume,omitempty"`
}

// Checks says what the whole ledger says about results, second counts, recounts and bans.
type Checks struct {
	Checked uint64 `json:"checked"` // tasks with an equal second count, or with a verdict
	// tasks whose counts differed, with or without a verdict
	Disputes   uint64 `json:"disputes"`
	Recounts   uint64 `json:"recounts"`         // recounts of the coordinator
	Recounting uint64 `json:"recounting"`       // tasks that wait for a recount
	Banned     []Ban  `json:"banned,omitempty"` // machines from which nothing is accepted, at most 64
	Recorded   uint64 `json:"recorded"`         // results of chunks in the ledger
}

// Live says what only a running coordinator knows.
type Live struct {
	Waiting     uint64 `json:"waiting_tasks"` // tasks that wait to be handed out
	Held        uint64 `json:"held_tasks"`    // tasks that workers hold
	Machines    int    `json:"machines"`      // machines with a worker that is present
	Workers     int    `json:"workers"`       // worker processes that are present
	Threads     int    `json:"threads"`       // threads of all workers
	IdleThreads int    `json:"idle_threads"`  // threads that search nothing

	Repeated uint64 `json:"repeated"` // results since this start that were recorded before
	// results, and chunks listed without a ticket, since this start that were refused
	Refused uint64 `json:"refused"`
	// chunks since this start that their worker lost: it was silent, or gave up the search
	Lost uint64 `json:"lost"`
	// seconds that a message of a worker waited at most until it was read, in the last second
	Queue Seconds `json:"queue_s"`
	// messages of workers since this start that were dropped unread: a newer one came, or they were
	// too old
	Dropped uint64 `json:"dropped"`
}

// Rate is a measured rate.
type Rate struct {
	PerSecond float64 `json:"rate"` // solutions per second
}

// Remaining is the work that is left.
type Remaining struct {
	ThreadSeconds float64 `json:"remaining_thread_seconds"` // at the run's present rates
}

// Limits of a [Snapshot]: the lengths of its lists, and the size of its JSON in bytes.
const (
	MaxWorkers       = 50
	MaxPage          = 1000 // workers in a page of the list of all workers
	MaxBans          = 64
	MaxSnapshotBytes = 1 << 20
)

// TimeToGo is a range for the remaining time of a run.
type TimeToGo struct {
	Least Seconds `json:"eta_least_s"` // seconds left, at least
	Most  Seconds `json:"eta_most_s"`  // seconds left, at most
}

// Ban says why a machine is banned: one of its counts or recounts contradicts a verdict.
type Ban struct {
	Machine
	// for people: the host, after the name of an invited user; it may be empty
	Label   string `json:"label,omitempty"`
	Task    uint64 `json:"task"`
	Count   uint64 `json:"count,string"`   // of the machine
	Recount uint64 `json:"recount,string"` // the verdict
}

// Validate returns an error unless the names of a ban are valid.
func (b *Ban) Validate() error {
	return cmp.Or(b.Machine.Validate(), ValidateName("a label", b.Label))
}

// Shown returns the name of the machine for people.
func (b *Ban) Shown() string { return cmp.Or(b.Label, b.Machine.String()) }

// Worker is a worker process of a run. A [Snapshot] of a large fleet lists workers that are silent,
// banned, slow or fast. Silent and banned ones come first, then the longest search.
type Worker struct {
	Machine
	// for people: the host, after the name of an invited user; with the process if it has several
	Label   string `json:"label"`
	Process string `json:"process"` // number of the process in this run, from 1
	Kernel  string `json:"kernel"`
	Version string `json:"version"`
	Threads int    `json:"threads"`
	*Rate          // over its last results; nil before the first
	Tasks   uint64 `json:"tasks"` // tasks that it counted since this start of the coordinator
	Held    uint64 `json:"held"`  // tasks that it holds
	// nothing is accepted from it
	Banned bool `json:"banned,omitempty"`
	// seconds since it began the oldest chunk that it holds; 0, and not in JSON, without one
	Longest  Seconds `json:"longest_s,omitzero"`
	LastSeen Seconds `json:"silent_s"` // seconds since it was last heard
}

// SilentAfter is how long a worker may send nothing before something is probably wrong.
const SilentAfter = 10 * time.Second

// IsSilent reports whether nothing was heard from the worker for 10 s or more.
func (w *Worker) IsSilent() bool { return w.LastSeen.Duration >= SilentAfter }

// Confirmed says what confirms a total.
type Confirmed struct {
	Level Level        `json:"confirmed"`    // "published", "redundant", "sampled" or "none"
	By    Confirmation `json:"confirmed_by"` // what the ledger has to confirm the counts, at any level
}

// Level says in a word how well a total is confirmed.
type Level string

// The levels, from the strongest to the weakest.
const (
	Published Level = "published" // it is the published total
	// for every task two witnesses or two methods agree, or there is a verdict
	Redundant Level = "redundant"
	// some tasks have an equal second count or a verdict: a rare wrong count may be unseen
	Sampled     Level = "sampled"
	Unconfirmed Level = "none" // nothing confirms it
)

// Confirmation has the facts that confirm the counts of a run.
type Confirmation struct {
	Published bool   `json:"published"` // the total is the published one
	Tasks     uint64 `json:"tasks"`     // all tasks
	// tasks with an equal count by a second witness, or with a verdict
	Checked uint64 `json:"checked"`
	// least number of witnesses that agree on a task without a verdict; 0 if there is none
	Redundancy int    `json:"redundancy"`
	Verdicts   uint64 `json:"verdicts"` // tasks with a verdict
	Machines   int    `json:"machines"` // machines whose counts are in the total
	// invited users, or else machines, whose counts are in the total
	Witnesses int `json:"witnesses"`
	// witnesses whose names the server has proven; others are names that were claimed
	Proven int `json:"proven"`
	Banned int `json:"banned"` // machines whose counts are void
	// Method is the number of tasks that verify --method other has counted again, with the same
	// result, by another algorithm.
	Method uint64 `json:"other_method,omitempty"`
}

// Level returns the strongest level that holds.
func (c *Confirmation) Level() Level {
	switch {
	case c.Published:
		return Published
	case c.Tasks > 0 && max(c.Checked, c.Method) == c.Tasks:
		return Redundant
	case c.Checked > 0 || c.Method > 0:
		return Sampled
	}
	return Unconfirmed
}

// SetTotal sets the total of a complete run, and what confirms it.
func (s *Snapshot) SetTotal(total *big.Int, c Confirmation) {
	s.State, s.Total = Complete, (*Decimal)(total)
	s.Confirmed = &Confirmed{Level: c.Level(), By: c}
}

// Disclaim leaves out the number of solutions if it can't be right: the run is contradicted, or the
// number contradicts the published total. A person must not take such a number for a result.
func (s *Snapshot) Disclaim() {
	if s.State == Contradicted || s.isDisproved() {
		s.Solutions = nil
	}
}

// NoTotal says why a snapshot has no number of solutions. It returns "" if there is one.
func (s *Snapshot) NoTotal() string {
	if s.Solutions != nil {
		return ""
	}
	return "no total: the counts contradict the published total, or each other: see the log"
}

// isDisproved reports whether the number of solutions contradicts the published total: it is
// greater, or all tasks are done and it is another number.
func (s *Snapshot) isDisproved() bool {
	known, published := KnownTotal(s.N)
	if !published || len(s.Placed) > 0 || s.Solutions == nil {
		return false
	}
	order := (*big.Int)(s.Solutions).Cmp(known)
	return order > 0 || order < 0 && s.Tasks > 0 && s.Done == s.Tasks
}

// Known returns how the total compares with the published one.
func (s *Snapshot) Known() Comparison { return Compare(s.N, s.Placed, (*big.Int)(s.Total)) }

// Validate returns the first thing that is wrong with a snapshot. Snapshots from outside need it.
func (s *Snapshot) Validate() error {
	err := cmp.Or(ValidateRun(s.Run), ValidateN(s.N), s.Method.Validate(), s.Symmetry.Validate(),
		s.State.Validate(),
		ValidatePlaced(s.N, s.Placed), s.validateTexts(), s.validateNumbers(), s.validateLive(),
		s.validateTotal())
	for i := 0; err == nil && i < len(s.WorkerList); i++ {
		err = s.WorkerList[i].validate()
	}
	for i := 0; err == nil && i < len(s.Bans()); i++ {
		err = s.Banned[i].Validate()
	}
	if err != nil {
		return fmt.Errorf("snapshot of run %.80q: %w", s.Run, err)
	}
	return nil
}

// maxCommand bounds the commands in a snapshot, in bytes.
const maxCommand = 4096

func (s *Snapshot) validateTexts() error {
	for _, command := range []string{s.Join, s.Resume} {
		if len(command) > maxCommand || Sanitize(command) != command {
			return fmt.Errorf("a command that can't be shown: %.80q", command)
		}
	}
	if s.Waits != nil {
		return s.Waits.Validate()
	}
	return nil
}

func (s *Snapshot) validateNumbers() error {
	checks := Checks{}
	if s.Checks != nil {
		checks = *s.Checks
	}
	switch {
	case max(s.Done, checks.Checked, checks.Disputes, checks.Recounting) > s.Tasks:
		return fmt.Errorf("more tasks than %d, which the run has", s.Tasks)
	case !(s.WorkDone >= 0 && s.WorkDone <= 1):
		return fmt.Errorf("the part %v of the work is done, not 0 to 1", float64(s.WorkDone))
	case s.Solutions == nil && s.State == Complete:
		return errors.New("no number of solutions")
	case s.Solutions != nil && (s.State == Contradicted || s.State != Complete && s.isDisproved()):
		return fmt.Errorf("%w: %s solutions have no claim", ErrContradiction, s.Solutions)
	case s.Elapsed.Duration < 0 ||
		s.TimeToGo != nil && (s.Least.Duration < 0 || s.Most.Duration < s.Least.Duration):
		return errors.New("negative or reversed times")
	case s.Redundancy < 0 || len(checks.Banned) > MaxBans:
		return fmt.Errorf("a redundancy of %d, or %d bans, more than %d", s.Redundancy,
			len(checks.Banned), MaxBans)
	}
	return nil
}

func (s *Snapshot) validateLive() error {
	live := Live{}
	if s.Live != nil {
		live = *s.Live
	}
	switch {
	case s.Live == nil && (s.Rate != nil || len(s.WorkerList) > 0):
		return errors.New("a rate or workers, but not how many")
	case max(live.Waiting, live.Held) > s.Tasks:
		return fmt.Errorf("more tasks than %d, which the run has", s.Tasks)
	case !s.Rate.isValid() || s.Remaining != nil && !isRate(s.ThreadSeconds):
		return errors.New("a rate or a number of thread-seconds that can't be")
	case min(live.Machines, live.Workers, live.Threads, live.IdleThreads) < 0:
		return errors.New("a negative number of machines, workers or threads")
	case live.Queue.Duration < 0:
		return errors.New("a negative wait of a message")
	case len(s.WorkerList) > MaxWorkers:
		return fmt.Errorf("%d workers, more than %d", len(s.WorkerList), MaxWorkers)
	}
	return nil
}

// Bans returns the bans, if they are known.
func (s *Snapshot) Bans() []Ban {
	if s.Checks == nil {
		return nil
	}
	return s.Banned
}

// validateTotal returns an error unless the total fits the state, the done tasks and what confirms
// it.
func (s *Snapshot) validateTotal() error {
	switch {
	case (s.Total != nil) != (s.State == Complete):
		return fmt.Errorf("the state %s, and a total: %v", s.State, s.Total != nil)
	case (s.Confirmed != nil) != (s.Total != nil):
		return errors.New("a total without what confirms it, or the reverse")
	case s.Total == nil:
		return nil
	case s.Level != s.By.Level() || s.By.Published != (s.Known() == Match):
		return fmt.Errorf("a total that is not confirmed as %.80q", s.Level)
	case s.Known() == Mismatch:
		return fmt.Errorf("%w: it says %s, which is not the published total", ErrContradiction, s.Total)
	case s.Done != s.Tasks || s.By.Tasks != s.Tasks || s.By.Checked > s.Tasks ||
		s.Total.String() != s.Solutions.String():
		return fmt.Errorf("a total with %d of %d tasks, %d checked, %s solutions", s.Done, s.Tasks,
			s.By.Checked, s.Solutions)
	}
	return nil
}

func (w *Worker) validate() error {
	err := cmp.Or(w.Machine.Validate(), ValidateName("a label", w.Label), ValidateMachine(w.Process),
		ValidateName("a kernel", w.Kernel), ValidateName("a version", w.Version))
	if err == nil && (!w.Rate.isValid() || w.Threads < 0 || w.Longest.Duration < 0 ||
		w.LastSeen.Duration < 0) {
		err = fmt.Errorf("worker %s with a negative rate, time or number of threads", w.Process)
	}
	return err
}

// maxRate is the greatest rate that is accepted from outside. The sum of many such rates is still
// finite, so JSON can represent it.
const maxRate = 1e100

// isValid reports whether a rate is unknown, or can be one.
func (r *Rate) isValid() bool { return r == nil || isRate(r.PerSecond) }

// isRate reports whether x can be a rate.
func isRate(x float64) bool { return x >= 0 && x <= maxRate }
