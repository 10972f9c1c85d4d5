package run

import (
	"bytes"
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
	Run      string          `json:"run"`
	N        int             `json:"n,omitzero"`
	Symmetry queens.Symmetry `json:"symmetry,omitzero"`
	Placed   []queens.Square `json:"placed,omitempty"` // Queens placed beforehand.
	State    State           `json:"state"`
	At       time.Time       `json:"at,omitzero"` // When it was measured; zero if only the tasks are known.

	Done      uint64   `json:"done"` // Tasks on which enough voters agree.
	Tasks     uint64   `json:"tasks"`
	WorkDone  Fraction `json:"percent"`            // Part of the estimated work that is done. It is 1 only with all tasks.
	Solutions *Decimal `json:"solutions,omitzero"` // Found so far, weighted: grows to the total; nil if not known.
	Rate      float64  `json:"rate"`               // Recent solutions per second.
	Elapsed   Seconds  `json:"elapsed_s"`          // Since this coordinator began to count.
	*ETA               // Nil while unknown.

	Workers     int        `json:"workers"` // With a recent heartbeat.
	Threads     int        `json:"threads"` // Of all those workers.
	IdleThreads int        `json:"idle_threads"`
	Bottleneck  Bottleneck `json:"bottleneck,omitzero"` // Of a run that counts, if it is known.
	// Sharing are other runs that are alive on the server, sorted: they share the workers. There are at most
	// [MaxSharing].
	Sharing []string `json:"sharing,omitempty"`

	States      TaskStates `json:"states"`
	Republished uint64     `json:"republished"`      // Tasks published again because no result came.
	Disputes    int        `json:"disputes"`         // Tasks whose results contradicted each other, settled or not.
	Quarantined int        `json:"quarantined_keys"` // Keys from which nothing is accepted.

	QueuedChunks int `json:"queued_chunks"` // In the queue, and no worker holds them.
	HeldChunks   int `json:"held_chunks"`   // By workers, as of their heartbeats.
	WindowChunks int `json:"window_chunks"` // In flight.
	WindowBytes  int `json:"window_bytes"`  // Of their prefixes.

	// These count from when this coordinator began, and never fall.

	PublishedChunks uint64         `json:"published_chunks"`
	ChunkResults    uint64         `json:"chunk_results"` // Read from the server.
	Results         ResultCounts   `json:"results"`
	Refused         RefusedResults `json:"refused"`

	Total      *Decimal `json:"total"` // Nil unless State is Complete.
	*Confirmed          // Nil without a total.

	// WorkerList are the workers, sorted by name. If there are more than [MaxWorkers], they are those that have held
	// a chunk the longest. The last snapshot of a run has none.
	WorkerList []Worker `json:"worker_list,omitempty"`
}

// Bounds of [Snapshot.WorkerList] and [Snapshot.Sharing].
const (
	MaxWorkers = 256
	MaxSharing = 16
)

// ETA is the remaining time of a run, which is not known exactly.
type ETA struct {
	Min Seconds `json:"eta_least_s"`
	Max Seconds `json:"eta_most_s"`
}

// TaskStates are numbers of tasks that are not done. Each task is in one state.
type TaskStates struct {
	InFlight     uint64 `json:"in_flight"`     // Published, or about to be.
	Waiting      uint64 `json:"waiting"`       // To be published.
	Disputed     uint64 `json:"disputed"`      // Their results contradict each other, and it is not settled who is right.
	DeadLettered uint64 `json:"dead_lettered"` // Workers were lost while they searched them: not published any more.
}

// ResultCounts are numbers of results of single tasks, by what they changed.
type ResultCounts struct {
	Accepted  uint64 `json:"accepted"`  // The first of their tasks.
	Confirmed uint64 `json:"confirmed"` // Agree with the accepted ones, and are other voters'.
	Duplicate uint64 `json:"duplicate"` // Known already.
	Disputed  uint64 `json:"disputed"`  // Contradict others of their tasks, and settle nothing.
	Settled   uint64 `json:"settled"`   // Settled a dispute.
}

// RefusedResults are numbers of results of single tasks that do not count, by reason.
type RefusedResults struct {
	UnknownTask    uint64 `json:"unknown_task"`    // The run has no such task.
	WrongHash      uint64 `json:"wrong_hash"`      // Something else than the task was counted.
	OtherManifest  uint64 `json:"other_manifest"`  // Counted for another manifest.
	QuarantinedKey uint64 `json:"quarantined_key"` // Their key is quarantined.
}

// Worker is a worker of a run.
type Worker struct {
	Name    string  `json:"name"`
	Kernel  string  `json:"kernel"`
	Threads int     `json:"threads"`
	Rate    float64 `json:"rate"`     // Solutions per second in its last tasks; 0 before the first, and while it is idle.
	Held    int     `json:"held"`     // Chunks that it searches.
	Oldest  Seconds `json:"oldest_s"` // How long it has searched the oldest of them.

	// Only in a [Detail].

	Key         string `json:"key,omitzero"`         // Its public key.
	Tasks       uint64 `json:"tasks,omitzero"`       // Accepted counts of a worker of that name.
	Quarantined bool   `json:"quarantined,omitzero"` // Nothing is accepted from its key.
}

// MaxSnapshotBytes bounds a snapshot in JSON.
const MaxSnapshotBytes = 1 << 18

// DecodeStrict decodes and validates JSON from outside, of at most so many bytes. A field that into does not have is an
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
	if !s.IsPublished() {
		return
	}
	confirmation := Confirmation{}
	if s.Confirmed != nil {
		confirmation = s.By
	}
	confirmation.Published = true
	s.SetTotal((*big.Int)(s.Total), &confirmation)
}

// IsPublished reports whether there is a total, and it is the published one.
func (s *Snapshot) IsPublished() bool {
	known, ok := queens.KnownTotal(s.N)
	return ok && len(s.Placed) == 0 && s.Total != nil && (*big.Int)(s.Total).Cmp(known) == 0
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
	idle.State, idle.Rate, idle.ETA, idle.Bottleneck, idle.WorkerList = state, 0, nil, "", nil
	return idle
}
