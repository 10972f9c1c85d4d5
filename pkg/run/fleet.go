package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"nqueens/pkg/queens"
)

// Heartbeat is what a worker reports every few seconds.
type Heartbeat struct {
	Worker  string
	Version string // Of the worker program.
	Kernel  string
	Threads int
	// Busy is the number of threads that search, where a device counts as several; 0 from workers that
	// do not say it, of which one searches each chunk in search.
	Busy int
	// Paused is why the worker pauses, for people; empty if it counts. A worker that pauses takes no chunk, and has
	// no thread for a run.
	Paused  string
	Leaving bool // This is the last heartbeat of a worker that stops.
	// Held are the chunks that the worker holds: at most [MaxHeld], of more first those in search, and
	// of these the longest searches.
	Held []HeldChunk
	// Sent is when the worker sent it, by its clock. It grows with each heartbeat of a worker. It is zero
	// in one that the receiver has made itself.
	Sent time.Time
	// Key is the public key that has signed the heartbeat, with which the worker signs its results too,
	// and Admission the proof that the join token admitted it, which may be empty.
	Key       string
	Admission []byte
}

// HeldChunk is a chunk that a worker holds.
type HeldChunk struct {
	Run   string
	Chunk uint64 // ID of the chunk.
	// Searching is set while a thread searches the chunk.
	Searching bool
	// Elapsed is how long the worker has been searching it.
	Elapsed time.Duration
}

// MaxHeld bounds the chunks that one heartbeat names.
const MaxHeld = 1 << 12

// MaxThreads bounds the threads that one worker may report.
const MaxThreads = 1 << 16

// Validate returns the first thing wrong with a heartbeat from outside, except with its key and time.
func (h *Heartbeat) Validate() error {
	err := validateWorker(h.Worker, h.Kernel, h.Threads, len(h.Held))
	if err == nil && len(h.Held) > MaxHeld {
		err = fmt.Errorf("worker %q with a list of %d chunks, more than %d", h.Worker, len(h.Held), MaxHeld)
	}
	if err == nil && (h.Busy < 0 || h.Busy > h.Threads) {
		err = fmt.Errorf("worker %q with %d of %d threads busy", h.Worker, h.Busy, h.Threads)
	}
	if err == nil {
		err = queens.ValidateName("a version", h.Version)
	}
	if err == nil {
		err = queens.ValidateName("a reason for a pause", h.Paused)
	}
	if err == nil && len(h.Admission) > MaxAdmission {
		err = fmt.Errorf("an admission of %d bytes, more than %d", len(h.Admission), MaxAdmission)
	}
	if err != nil {
		return fmt.Errorf("heartbeat with %w", err)
	}
	for _, held := range h.Held {
		if err := queens.ValidateRun(held.Run); err != nil {
			return fmt.Errorf("heartbeat of worker %q: %w", h.Worker, err)
		}
		switch {
		case held.Chunk == 0:
			return fmt.Errorf("heartbeat of worker %q with a chunk of run %s without an id", h.Worker, held.Run)
		case held.Elapsed < 0:
			return fmt.Errorf("heartbeat of worker %q with chunk %016x for a negative time", h.Worker, held.Chunk)
		}
	}
	return nil
}

// validateWorker returns the first thing wrong with what a worker reports.
func validateWorker(name, kernel string, threads, held int) error {
	if name == "" {
		return errors.New("a worker without a name")
	}
	if err := queens.ValidateName("a worker name", name); err != nil {
		return err
	}
	err := queens.ValidateName("a kernel name", kernel)
	switch {
	case err != nil:
		return fmt.Errorf("worker %q with %w", name, err)
	case threads < 1 || threads > MaxThreads:
		return fmt.Errorf("worker %q with %d threads, not 1 to %d", name, threads, MaxThreads)
	case held < 0 || held > MaxThreads:
		return fmt.Errorf("worker %q with %d chunks, not 0 to %d", name, held, MaxThreads)
	}
	return nil
}

// AnnouncementInterval is the time between the announcements of a run.
const AnnouncementInterval = 2 * time.Second

// SilentAfter is how long after its last announcement a run counts as silent, while there is a
// connection: three announcements are missing. Its coordinator is dead, or can't be reached.
const SilentAfter = 3*AnnouncementInterval + AnnouncementInterval/2

// Announcement says that a run is alive and has work: its coordinator to all workers, every
// [AnnouncementInterval] and at once on a change.
type Announcement struct {
	Run   string `json:"run"`
	Epoch uint64 `json:"epoch"` // Of the coordinator, see [Record].
	State State  `json:"state"`
	// Waiting is the number of chunks in the queue that no worker is known to hold.
	Waiting int `json:"waiting"`
	// Weight is the run's share of worker time beside other runs; see [Priority].
	Weight int `json:"weight"`
	// Threads is the number of threads of all workers that the coordinator knows.
	Threads int `json:"threads"`
	// Obsolete are the ids of chunks that workers need not count: their tasks have accepted
	// results, or were published again. At most MaxObsolete.
	Obsolete []uint64 `json:"obsolete,omitzero"`
	// Quarantined are the public keys of workers whose results the run refuses, because its
	// coordinator has proven a count of theirs wrong. At most MaxQuarantined.
	Quarantined []string `json:"quarantined,omitzero"`
	// Unadmitted are the public keys of workers whose results the run refuses because they are not
	// admitted, and it takes only those of admitted keys. At most MaxUnadmitted; where there are more,
	// each announcement names others of them.
	Unadmitted []string `json:"unadmitted,omitzero"`
}

// MaxObsolete bounds [Announcement.Obsolete].
const MaxObsolete = 1 << 12

// MaxQuarantined bounds [Announcement.Quarantined].
const MaxQuarantined = 1 << 8

// MaxUnadmitted bounds [Announcement.Unadmitted].
const MaxUnadmitted = 1 << 8

// maxWaiting bounds the counts in an announcement.
const maxWaiting = 1 << 30

// Validate returns the first thing wrong with an announcement from outside.
func (b *Announcement) Validate() error {
	if err := queens.ValidateRun(b.Run); err != nil {
		return err
	}
	err := b.State.Validate()
	if err == nil {
		err = ValidateEpoch(b.Epoch)
	}
	switch {
	case err != nil:
	case b.Waiting < 0 || b.Waiting > maxWaiting, b.Threads < 0 || b.Threads > maxWaiting:
		err = fmt.Errorf("%d chunks waiting for %d threads", b.Waiting, b.Threads)
	case b.Weight < 0 || b.Weight > maxWeight:
		err = fmt.Errorf("the weight %d, not 0 to %d", b.Weight, maxWeight)
	case len(b.Obsolete) > MaxObsolete:
		err = fmt.Errorf("%d obsolete chunks, more than %d", len(b.Obsolete), MaxObsolete)
	case slices.Contains(b.Obsolete, 0):
		err = errors.New("an obsolete chunk without an id")
	case len(b.Quarantined) > MaxQuarantined:
		err = fmt.Errorf("%d quarantined keys, more than %d", len(b.Quarantined), MaxQuarantined)
	case len(b.Unadmitted) > MaxUnadmitted:
		err = fmt.Errorf("%d keys that are not admitted, more than %d", len(b.Unadmitted), MaxUnadmitted)
	}
	for _, key := range slices.Concat(b.Quarantined, b.Unadmitted) {
		err = cmp.Or(err, ValidateKey(key))
	}
	if err != nil {
		return fmt.Errorf("announcement of run %s: %w", b.Run, err)
	}
	return nil
}

// Priority is how a run shares workers with others.
type Priority string

// The priorities.
const (
	Low    Priority = "low"    // Takes only what the other runs leave.
	Normal Priority = "normal" // Shares equally with other runs of this priority.
	High   Priority = "high"   // Gets four times the share of a normal run.
)

// maxWeight is the greatest weight.
const maxWeight = 4

// Weight returns the run's share relative to a normal run; 0 means that it takes only what
// the other runs leave. A priority of an unknown name has the weight of a normal run.
func (p Priority) Weight() int {
	switch p {
	case Low:
		return 0
	case High:
		return maxWeight
	case Normal:
	}
	return 1
}

// Lease is a worker's hold on one chunk. When a lease expires the chunk is delivered to
// another worker.
type Lease interface {
	// Redelivered returns how often the chunk was delivered before: workers have released it,
	// or were lost.
	Redelivered() int
	// Extend restarts the lease with its full length.
	Extend() error
	// Ack removes the chunk from the queue, once its result is stored, and waits for the
	// confirmation.
	Ack(ctx context.Context) error
	// Release returns the chunk to the queue, for another worker to take at once.
	Release() error
	// Postpone returns the chunk to the queue, where nobody can take it before the delay has
	// passed.
	Postpone(delay time.Duration) error
}

// Loan is a chunk that a worker has taken from the queue.
type Loan struct {
	Chunk Chunk
	Lease Lease
	// Queued is the number of chunks of the run that were waiting behind this one.
	Queued int
}

// Work is what a worker does at a moment.
type Work struct {
	Threads   int      // All, where devices count as several.
	Tasks     uint64   // Tasks counted since the start.
	Prefixes  uint64   // Of these tasks.
	Results   uint64   // Of chunks, stored since the start.
	Busy      int      // Threads that search.
	Searching int      // Chunks in search.
	Ready     int      // Chunks that wait for a thread.
	Reporting int      // Chunks whose results are to be stored or acknowledged.
	Runs      []string // Names of the runs of all chunks held, sorted.
	Idle      string   // Why no chunk is held; empty while one is.
	Paused    string   // Why the worker pauses; empty while it does not.
	// SearchTime is how long threads have searched since the start, together.
	SearchTime time.Duration
}
