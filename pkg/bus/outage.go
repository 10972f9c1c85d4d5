package bus

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// A server may lose what a stream needs: files are damaged, or two of the three servers that kept a stream
// have forgotten it. Then the stream answers nothing, or errors, for ever. This file notices that, makes the
// stream of tasks again, and says what to type for the others, which hold what can't be published again.

const (
	// stuckAfter is how long the stream of tasks, or a consumer of it, must have failed before it is made again. A
	// cluster that loses a server answers nothing for about ten seconds. The log says what to type about
	// anything else after half of it.
	stuckAfter = 2 * time.Minute
	// outageEnds is how long after its last failure an outage is over although nothing succeeded.
	outageEnds = time.Minute
)

// outages notes since when uses of the parts have failed without a success in between. One use may fail while the
// others work. Its zero value is ready to use.
type outages struct {
	mu    sync.Mutex
	since map[use]outage
	// tasksCreated is when the stream of tasks was made that was last seen; zero before.
	tasksCreated time.Time
	// patience is how long to wait instead of stuckAfter, in nanoseconds; tests set it.
	patience atomic.Int64
}

type use struct {
	part Part
	what string // "lookup", "publish"...
}

type outage struct{ first, last time.Time }

// note notes whether a use of a part failed now.
func (o *outages) note(part Part, what string, failed bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !failed {
		delete(o.since, use{part, what})
		return
	}
	now := time.Now()
	out, known := o.since[use{part, what}]
	if !known || now.Sub(out.last) > outageEnds {
		out.first = now
	}
	out.last = now
	if o.since == nil {
		o.since = make(map[use]outage)
	}
	o.since[use{part, what}] = out
}

// length returns how long uses of a part have been failing, that of the longest outage.
func (o *outages) length(part Part) (longest time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for of, out := range o.since {
		if of.part == part && time.Since(out.last) <= outageEnds {
			longest = max(longest, out.last.Sub(out.first))
		}
	}
	return longest
}

// sawTasks notes when the stream of tasks was made. The outages of one made at another time are over.
func (o *outages) sawTasks(created time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for of := range o.since {
		if of.part == TasksPart && !o.tasksCreated.Equal(created) {
			delete(o.since, of)
		}
	}
	o.tasksCreated = created
}

// stuckAfter is the constant of that name, or less in tests.
func (o *outages) stuckAfter() time.Duration {
	return cmp.Or(time.Duration(o.patience.Load()), stuckAfter)
}

// isOutage reports whether an error shows that something on the server does not work, while the connection
// does. An error that says that something is full, or does not exist, shows that it works.
func (b *Bus) isOutage(err error) bool {
	switch {
	case err == nil, errors.Is(err, errDisconnected), errors.Is(err, ErrReplicas), !b.conn.IsConnected():
		return false
	case errors.As(err, new(*jetstream.APIError)):
		return !hasCode(err, errCodeNoResources, errCodeNoStorage, errCodeStoreFailed, jetstream.JSErrCodeStreamNotFound)
	}
	return isUnsettled(err)
}

// errCodeStoreFailed is the server's error code for a message that it can't store, most often because the
// stream is full.
const errCodeStoreFailed jetstream.ErrorCode = 10077

// heal does what a coordinator can do about streams that have failed for long. It knows what the lookups of the
// streams of results and of tasks have just said. It deletes the stream of tasks only if the server has answered
// about that of results: a server that is overloaded, or a cluster without a majority, answers about neither.
func (b *Bus) heal(ctx context.Context, results, tasks error) {
	if ctx.Err() != nil {
		return
	}
	b.advise(ResultsPart)
	b.advise(RecordsPart)
	silent := b.outages.length(TasksPart)
	if silent <= b.outages.stuckAfter() || results != nil || tasks != nil && !b.isOutage(tasks) || !b.heals.Allow("") {
		return
	}
	b.log.Warn().Err(tasks).Str("stream", tasksStream).Float64("seconds", silent.Seconds()).
		Msg("the stream of tasks has not worked for minutes, although the server answers: making it again; its tasks are published again")
	if err := b.deleteStream(ctx, tasksStream); err != nil {
		b.log.Warn().Err(err).Msg("can't delete the stream of tasks, trying again")
		return
	}
	b.outages.sawTasks(time.Time{})
}

// advise logs what to type when something has failed for a minute that is never deleted without a person.
func (b *Bus) advise(part Part) {
	silent := b.outages.length(part)
	if silent <= b.outages.stuckAfter()/2 || !b.limiter.Allow("advise "+part.Name) {
		return
	}
	log := b.log.Warn().Str("what", part.Name).Float64("seconds", silent.Seconds())
	if b.isEmbedded() {
		log.Msg("what the run keeps on its embedded server has not worked for a minute: if it stays so, stop the coordinator, delete the folder nats in the folder of the run, and resume the run: no accepted result is lost")
		return
	}
	log.Str("command", b.resetCommand(part)).
		Msg("what runs keep on the server has not worked for a minute: start the servers of the cluster that are away, and look at the room on their disks; if it stays so although all are there, type the command, which deletes " + part.Loses)
}

// deleteStream deletes a stream. A missing one is no error.
func (b *Bus) deleteStream(ctx context.Context, name string) error {
	ctx, done := b.request(ctx)
	if err := done(b.js.DeleteStream(ctx, name)); err != nil && !errors.Is(err, jetstream.ErrStreamNotFound) {
		return fmt.Errorf("delete stream %s: %w", name, err)
	}
	return nil
}

// Part is a part of what runs keep on the server, which [Bus.Reset] deletes.
type Part struct {
	Word  string // with which a person names it
	Name  string // of its stream or bucket
	Loses string // for people: what is lost with it

	stream string
}

// The parts.
var (
	TasksPart = Part{"tasks", tasksStream,
		"the chunks of tasks that wait for workers, of all runs: their coordinators publish them again", tasksStream}
	ResultsPart = Part{"results", resultsStream,
		"the results of all runs that no coordinator has read yet: their tasks are counted again", resultsStream}
	RecordsPart = Part{"records", runsBucket,
		"the records of all runs: coordinators that are running store theirs again, and others when they are resumed; that a run was cancelled is forgotten", bucketStream}
)

// Parts are all parts.
var Parts = []Part{ResultsPart, RecordsPart, TasksPart}

// ParsePart returns the part that a word names.
func ParsePart(word string) (Part, error) {
	i := slices.IndexFunc(Parts, func(p Part) bool { return p.Word == word })
	if i < 0 {
		return Part{}, fmt.Errorf("%.80q is no part of what runs keep on the server: it is %s, %s or %s", word, ResultsPart.Word, RecordsPart.Word, TasksPart.Word)
	}
	return Parts[i], nil
}

// resetCommand returns what to type to delete a part.
func (b *Bus) resetCommand(part Part) string {
	return fmt.Sprintf("coordinator reset %s --nats %s --yes", part.Word, b.cfg.displayURL())
}

// resetHint adds to an error that shows that a part does not work what to type if that lasts. The server in
// this process has a folder of its own, which resume does not need.
func (b *Bus) resetHint(part Part, err error) error {
	switch {
	case !b.isOutage(err) || errors.Is(err, nats.ErrNoResponders):
		return err
	case b.isEmbedded():
		return fmt.Errorf("%w: if this lasts, delete the folder nats in the folder of the run", err)
	}
	return fmt.Errorf("%w: if this lasts although all servers are there, delete what it keeps, for all runs: %s", err, b.resetCommand(part))
}

// Reset deletes a part, of all runs. Coordinators that are running make it again. A part that does not exist
// is no error.
func (b *Bus) Reset(ctx context.Context, part Part) error {
	return b.untilSettled(ctx, func() error { return b.deleteStream(ctx, part.stream) })
}
