package run

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"nqueens/pkg/queens"
)

// BeatInterval is the time between the beats of a run.
const BeatInterval = 2 * time.Second

// SilentAfter is how long after its last beat a run counts as silent, while there is a
// connection: three beats are missing. Its coordinator is dead, or can't be reached.
const SilentAfter = 3*BeatInterval + BeatInterval/2

// Beat says that a run is alive and has work: its coordinator to all workers, every
// [BeatInterval] and at once on a change.
type Beat struct {
	Run   string
	Epoch uint64 // Of the coordinator, see [Record].
	State State
	// Waiting is the number of chunks in the queue that no worker is known to hold.
	Waiting int
	// Weight is the run's share of worker time beside other runs; see [Priority].
	Weight int
	// Threads is the number of threads of all workers that the coordinator knows.
	Threads int
	// Obsolete are the ids of chunks that workers hold in vain: their tasks have accepted
	// results, or were published again. At most MaxObsolete.
	Obsolete []uint64
	// Consumer is the number of the queue's consumer, from which workers take chunks: 0, unless the server
	// could not make that one again.
	Consumer int
	// Quarantined are the public keys of workers whose results the run refuses, because its
	// coordinator has proven a count of theirs wrong. At most MaxQuarantined.
	Quarantined []string
	// Unadmitted are the public keys of workers whose results the run refuses because they are not
	// admitted, and it takes only those of admitted keys. At most MaxUnadmitted; where there are more,
	// each beat names others of them.
	Unadmitted []string
}

// MaxObsolete bounds [Beat.Obsolete].
const MaxObsolete = 1 << 12

// MaxQuarantined bounds [Beat.Quarantined].
const MaxQuarantined = 1 << 8

// MaxUnadmitted bounds [Beat.Unadmitted].
const MaxUnadmitted = 1 << 8

// MaxConsumer bounds [Beat.Consumer].
const MaxConsumer = 1 << 20

// maxWaiting bounds the counts in a beat.
const maxWaiting = 1 << 30

// Validate returns the first thing wrong with a beat from outside.
func (b *Beat) Validate() error {
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
	case b.Consumer < 0 || b.Consumer > MaxConsumer:
		err = fmt.Errorf("consumer %d, not 0 to %d", b.Consumer, MaxConsumer)
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
		err = cmp.Or(err, queens.ValidateKey(key))
	}
	if err != nil {
		return fmt.Errorf("beat of run %s: %w", b.Run, err)
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
