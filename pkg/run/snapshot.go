package run

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"time"

	"nqueens/pkg/queens"
)

// Snapshot is the facts of a run at a moment: on the wire, in the record, in JSON output, on the page, in metrics
// and in the log. Its coordinator measures them; all others show them, and compute nothing. No decision depends on
// it. A list that is too long for a snapshot is in a [Detail].
type Snapshot struct {
	Run      string          `json:"run"`               // name of the run
	N        int             `json:"n,omitzero"`        // side of the board
	Symmetry queens.Symmetry `json:"symmetry,omitzero"` // "full", "mirror" or "none"
	// squares of the queens placed beforehand, each [row,column]
	Placed []queens.Square `json:"placed,omitempty"`
	State  State           `json:"state"` // "running", "stopped", "complete", "contradicted" or "cancelled"
	// when it was measured, in RFC 3339; absent if only the tasks are known
	At time.Time `json:"at,omitzero"`

	Done  uint64 `json:"done"`  // tasks on which enough voters agree
	Tasks uint64 `json:"tasks"` // all tasks
	// part of the estimated work that is done; less than 100 until all tasks are done
	WorkDone  Fraction `json:"percent"`
	Solutions *Decimal `json:"solutions,omitzero"` // found so far, weighted: grows to the total
	Rate      float64  `json:"rate"`               // solutions per second, over the last 30 s
	Elapsed   Seconds  `json:"elapsed_s"`          // seconds for which coordinators have worked on the run, this one and those before it
	*ETA               // Nil while unknown.

	Workers       int `json:"workers"`        // with a recent heartbeat
	PausedWorkers int `json:"paused_workers"` // of these, those that pause
	Threads       int `json:"threads"`        // of all workers that do not pause
	IdleThreads   int `json:"idle_threads"`   // that search nothing
	// threads that the run needs to end at its target (--finish-in); 0 when nothing is left
	NeededThreads int `json:"needed_threads"`
	// what has limited a run that counts for ten seconds: "search", "messages", "ledger", "window" or "tail"; absent if none of these has
	Bottleneck Bottleneck `json:"bottleneck,omitzero"`
	// other runs that are alive on the server, sorted, at most 16: they share the workers
	Sharing []string `json:"sharing,omitempty"`

	States      TaskStates `json:"states"`           // tasks that are not done
	Republished uint64     `json:"republished"`      // tasks published again because no result came
	Disputes    int        `json:"disputes"`         // tasks whose results contradicted each other, settled or not
	Quarantined int        `json:"quarantined_keys"` // keys from which nothing is accepted

	QueuedChunks int `json:"queued_chunks"` // chunks in the queue that no worker holds
	HeldChunks   int `json:"held_chunks"`   // chunks that workers hold, as of their heartbeats
	WindowChunks int `json:"window_chunks"` // chunks in flight
	WindowBytes  int `json:"window_bytes"`  // of their prefixes

	// These count from when this coordinator began, and never fall.

	// chunks published since this coordinator began; so are the next three
	PublishedChunks uint64         `json:"published_chunks"`
	ChunkResults    uint64         `json:"chunk_results"` // results of chunks read from the server
	Results         ResultCounts   `json:"results"`       // results of single tasks, by what they changed
	Refused         RefusedResults `json:"refused"`       // results of single tasks that do not count, by reason

	Total      *Decimal `json:"total"` // number of solutions; null unless the run is complete
	*Confirmed          // Nil without a total.

	// the workers, sorted by name, at most 256: those that have held a chunk the longest
	WorkerList []Worker `json:"worker_list,omitempty"`
}

// Bounds of [Snapshot.WorkerList] and [Snapshot.Sharing].
const (
	MaxWorkers = 256
	MaxSharing = 16
)

// ETA is the remaining time of a run, which is not known exactly.
type ETA struct {
	Min Seconds `json:"eta_least_s"` // seconds left, at least
	Max Seconds `json:"eta_most_s"`  // seconds left, at most
}

// TaskStates are numbers of tasks that are not done. Each task is in one state.
type TaskStates struct {
	InFlight     uint64 `json:"in_flight"`     // published, or about to be
	Waiting      uint64 `json:"waiting"`       // to be published
	Disputed     uint64 `json:"disputed"`      // not settled
	DeadLettered uint64 `json:"dead_lettered"` // workers were lost with them: not published any more
}

// ResultCounts are numbers of results of single tasks, by what they changed.
type ResultCounts struct {
	Accepted  uint64 `json:"accepted"`  // the first of their tasks
	Confirmed uint64 `json:"confirmed"` // agree with accepted ones, of other voters that were asked
	Duplicate uint64 `json:"duplicate"` // known already, or agree with accepted ones and nobody had asked
	Disputed  uint64 `json:"disputed"`  // contradict others, and settle nothing
	Settled   uint64 `json:"settled"`   // settled a dispute
}

// RefusedResults are numbers of results of single tasks that do not count, by reason.
type RefusedResults struct {
	UnknownTask    uint64 `json:"unknown_task"`    // the run has no such task
	WrongHash      uint64 `json:"wrong_hash"`      // something else than the task was counted
	OtherManifest  uint64 `json:"other_manifest"`  // counted for another manifest
	QuarantinedKey uint64 `json:"quarantined_key"` // their key is quarantined
}

// Worker is a worker of a run.
type Worker struct {
	Name    string  `json:"name"`            // of the worker
	Kernel  string  `json:"kernel"`          // with which it searches
	Threads int     `json:"threads"`         // that search
	Paused  string  `json:"paused,omitzero"` // why it pauses; absent if it counts
	Rate    float64 `json:"rate"`            // solutions per second in its last tasks; 0 while it is idle
	Held    int     `json:"held"`            // chunks that it searches
	Oldest  Seconds `json:"oldest_s"`        // seconds that it has searched the oldest

	// Only in a [Detail].

	// its public key; this and the next two only from a coordinator's page
	Key         string `json:"key,omitzero"`
	Tasks       uint64 `json:"tasks,omitzero"`       // accepted counts
	Quarantined bool   `json:"quarantined,omitzero"` // nothing is accepted from its key
}

// MaxSnapshotBytes bounds a snapshot in JSON, which may write each byte of a name in six.
const MaxSnapshotBytes = 1 << 20

// DecodeStrict decodes and validates JSON from outside, of at most most bytes. A field that into does not have is an
// error.
func DecodeStrict(data []byte, most int, into interface{ Validate() error }) error {
	if len(data) > most {
		return fmt.Errorf("%d bytes of JSON, more than %d", len(data), most)
	}
	in := json.NewDecoder(bytes.NewReader(data))
	in.DisallowUnknownFields()
	if err := in.Decode(into); err != nil {
		return err
	}
	if in.More() {
		return errors.New("JSON with something behind it")
	}
	return into.Validate()
}

// SetTotal enters the total of a complete run, and what confirms it.
func (s *Snapshot) SetTotal(total *big.Int, c *Confirmation) {
	s.Total = (*Decimal)(total)
	s.Confirmed = &Confirmed{Level: c.Level(), By: *c}
}

// NotePublished has the published total confirm itself, whatever else confirms it.
func (s *Snapshot) NotePublished() {
	if s.Known() != queens.Match {
		return
	}
	confirmation := Confirmation{}
	if s.Confirmed != nil {
		confirmation = s.By
	}
	confirmation.Published = true
	s.SetTotal((*big.Int)(s.Total), &confirmation)
}

// Known returns how the total compares with the published one.
func (s *Snapshot) Known() queens.Comparison {
	return queens.Compare(s.N, s.Placed, (*big.Int)(s.Total))
}

// Matches returns an error unless the snapshot is of that run, and of what the manifest says.
func (s *Snapshot) Matches(name string, m *queens.Manifest) error {
	if s.Run == name && s.N == m.N && s.Symmetry == m.Symmetry && slices.Equal(s.Placed, m.Placed) && s.Tasks == m.Tasks {
		return nil
	}
	return fmt.Errorf("a snapshot says run %s, n = %d, symmetry %s, placed %v and %d tasks, the record %s, %d, %s, %v and %d",
		s.Run, s.N, s.Symmetry, s.Placed, s.Tasks, name, m.N, m.Symmetry, m.Placed, m.Tasks)
}

// Idle returns the snapshot of a run on which nobody works any more.
func (s *Snapshot) Idle(state State) Snapshot {
	idle := *s
	idle.State, idle.Rate, idle.ETA, idle.Bottleneck, idle.WorkerList, idle.NeededThreads = state, 0, nil, "", nil, 0
	return idle
}

// Validate returns the first thing wrong with a snapshot from outside.
func (s *Snapshot) Validate() error {
	if err := queens.ValidateRun(s.Run); err != nil {
		return err
	}
	err := cmp.Or(queens.ValidateN(s.N), s.State.Validate(), s.check(), s.checkTotal(), queens.ValidateName("a bottleneck", string(s.Bottleneck)))
	for i := 0; err == nil && i < len(s.Sharing); i++ {
		err = queens.ValidateRun(s.Sharing[i])
	}
	for i := 0; err == nil && i < len(s.WorkerList); i++ {
		err = s.WorkerList[i].validate()
	}
	if err != nil {
		return fmt.Errorf("snapshot of run %s: %w", s.Run, err)
	}
	return nil
}

func (s *Snapshot) check() error {
	t := &s.States
	switch {
	case s.Symmetry != queens.Full && s.Symmetry != queens.Mirror && s.Symmetry != queens.None:
		return fmt.Errorf("no count has the symmetry %.80q", s.Symmetry)
	case queens.ValidatePlaced(s.N, s.Placed) != nil:
		return queens.ValidatePlaced(s.N, s.Placed)
	case max(s.Done, t.InFlight, t.Waiting, t.Disputed, t.DeadLettered) > s.Tasks:
		return fmt.Errorf("%d tasks, of which %d are done, %d in flight, %d wait, %d are disputed and %d dead-lettered",
			s.Tasks, s.Done, t.InFlight, t.Waiting, t.Disputed, t.DeadLettered)
	case !(s.WorkDone >= 0 && s.WorkDone <= 1):
		return fmt.Errorf("the part %v of the work is done, not 0 to 1", float64(s.WorkDone))
	case s.Solutions == nil:
		return errors.New("no number of solutions")
	case !isRate(s.Rate):
		return fmt.Errorf("the rate is %v", s.Rate)
	case s.Elapsed.Duration < 0 || s.ETA != nil && (s.ETA.Min.Duration < 0 || s.ETA.Max.Duration < s.ETA.Min.Duration):
		return errors.New("negative or reversed times")
	case min(s.Workers, s.PausedWorkers, s.Threads, s.IdleThreads, s.NeededThreads, s.Disputes, s.Quarantined) < 0:
		return errors.New("a negative number of workers, threads, disputes or keys")
	case min(s.QueuedChunks, s.HeldChunks, s.WindowChunks, s.WindowBytes) < 0:
		return errors.New("a negative number of chunks or bytes")
	case len(s.Sharing) > MaxSharing:
		return fmt.Errorf("a list of %d other runs, more than %d", len(s.Sharing), MaxSharing)
	case len(s.WorkerList) > MaxWorkers:
		return fmt.Errorf("a list of %d workers, more than %d", len(s.WorkerList), MaxWorkers)
	}
	return nil
}

// checkTotal returns the first thing wrong with the total, and with what confirms it.
func (s *Snapshot) checkTotal() error {
	switch {
	case (s.Total != nil) != (s.State == Complete):
		return fmt.Errorf("the state %s, and a total: %v", s.State, s.Total != nil)
	case s.Confirmed == nil:
		return nil
	case s.Total == nil:
		return errors.New("a confirmation without a total")
	case s.By.Tasks > s.Tasks:
		return fmt.Errorf("counts of %d tasks of %d", s.By.Tasks, s.Tasks)
	case s.By.Published && s.Known() != queens.Match:
		return errors.New("a total that is not the published one, although it says so")
	case s.Level != s.By.Level():
		return fmt.Errorf("a total that is confirmed as %.80q, and not as %q", s.Level, s.By.Level())
	}
	return s.By.Validate()
}

func (w *Worker) validate() error {
	err := cmp.Or(validateWorker(w.Name, w.Kernel, w.Threads, w.Held), queens.ValidateName("a reason for a pause", w.Paused))
	switch {
	case err != nil:
		return err
	case !isRate(w.Rate):
		return fmt.Errorf("worker %q with the rate %v", w.Name, w.Rate)
	case w.Oldest.Duration < 0:
		return fmt.Errorf("worker %q with a chunk for a negative time", w.Name)
	}
	return nil
}

// maxRate bounds a rate from outside. The sum of any number of such rates is a number that JSON has.
const maxRate = 1e100

// isRate reports whether x can be a rate.
func isRate(x float64) bool { return x >= 0 && x <= maxRate }

// Bottleneck is what limits the speed of a run, in a word; empty if that is not known.
type Bottleneck string

// The bounds. An estimate may name any of them, a run that counts only some:
// [nqueens/pkg/progress.BoundMeter].
const (
	BySearch   Bottleneck = "search"
	ByTail     Bottleneck = "tail"
	ByMessages Bottleneck = "messages"
	ByLedger   Bottleneck = "ledger"
	ByWindow   Bottleneck = "window"
	ByPlanning Bottleneck = "planning"
	ByStart    Bottleneck = "start"
)

// Explanation says for people what the word means.
func (b Bottleneck) Explanation() string {
	return map[Bottleneck]string{
		BySearch:   "more threads make it faster",
		ByTail:     "threads wait for the last tasks",
		ByMessages: "chunks through the server",
		ByLedger:   "results into the ledger",
		ByWindow:   "fewer chunks in flight than threads",
		ByPlanning: "numbering the tasks, and the audit",
		ByStart:    "start and stop",
	}[b]
}

// Phrase says for people what bounds a run: bounded by the ledger. It is empty for an unknown
// bound, and for the search, which bounds most runs.
func (b Bottleneck) Phrase() string {
	switch b {
	case "", BySearch:
		return ""
	case ByMessages, ByPlanning:
		return "bounded by " + string(b)
	}
	return "bounded by the " + string(b)
}
