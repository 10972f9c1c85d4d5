package bus

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// A server may lose what a stream needs: files are damaged, or two of the three servers that kept a stream
// have forgotten it. Then the stream answers nothing, or errors, for ever. This file notices that, makes the
// stream of tasks again, and says what to type for the others, which hold what can't be published again.

const (
	// stuckAfter is how long the stream of tasks, or a consumer, must have failed before it is made again. A
	// cluster that loses a server answers nothing for about ten seconds. The log says what to type about
	// anything else after half of it.
	stuckAfter = 2 * time.Minute
	// outageEnds is how long after its last failure an outage is over although nothing succeeded.
	outageEnds = time.Minute
	// probeInterval is the least time between two probes.
	probeInterval = 30 * time.Second
)

// What has outages, apart from the streams and the consumers of runs.
const (
	publishedTasks = "publishing to " + tasksStream
	deliveredTasks = "delivering from " + tasksStream
	readResults    = "reading from " + resultsStream
)

// outages notes since when something on the server has failed without a success in between. Its zero value is
// ready to use.
type outages struct {
	mu    sync.Mutex
	since map[string]outage
	tried time.Time // when canMakeStreams was last tried
	// tasksCreated is when the stream of tasks was made that was last seen; zero before.
	tasksCreated time.Time
	// patience is how long to wait instead of stuckAfter, in nanoseconds; tests set it.
	patience atomic.Int64
}

type outage struct{ first, last time.Time }

// note notes whether something failed now, and returns how long it has been failing.
func (o *outages) note(what string, failed bool) time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := time.Now()
	out, known := o.since[what]
	if !failed {
		delete(o.since, what)
		return 0
	}
	if !known || now.Sub(out.last) > outageEnds {
		out.first = now
	}
	out.last = now
	if o.since == nil {
		o.since = make(map[string]outage)
	}
	o.since[what] = out
	return now.Sub(out.first)
}

// sawTasks notes when the stream of tasks was made, as a lookup says. Outages of one made at another time are over.
func (o *outages) sawTasks(created time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.tasksCreated.IsZero() && !o.tasksCreated.Equal(created) {
		for _, what := range []string{tasksStream, publishedTasks, deliveredTasks} {
			delete(o.since, what)
		}
	}
	o.tasksCreated = created
}

// areOf reports whether the stream of tasks that was last seen was made at that time.
func (o *outages) areOf(created time.Time) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.tasksCreated.Equal(created)
}

// isUnderWay reports whether something has failed, and not succeeded since.
func (o *outages) isUnderWay(what string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	out, known := o.since[what]
	return known && time.Since(out.last) <= outageEnds
}

// length returns how long something has been failing.
func (o *outages) length(what string) time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	out, known := o.since[what]
	if !known || time.Since(out.last) > outageEnds {
		return 0
	}
	return out.last.Sub(out.first)
}

// stuckAfter is the constant of that name, or less in tests.
func (o *outages) stuckAfter() time.Duration {
	return cmp.Or(time.Duration(o.patience.Load()), stuckAfter)
}

// mayTry reports whether it is time for another try of canMakeStreams.
func (o *outages) mayTry() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if time.Since(o.tried) < min(probeInterval, o.stuckAfter()/4) {
		return false
	}
	o.tried = time.Now()
	return true
}

// isOutage reports whether an error shows that something on the server does not work, while the connection
// does. An error that says that something is full, or does not exist, shows that it works.
func (b *Bus) isOutage(err error) bool {
	var api *jetstream.APIError
	switch {
	case err == nil, errors.Is(err, errDisconnected), errors.Is(err, ErrReplicas), !b.conn.IsConnected():
		return false
	case errors.As(err, &api):
		return !hasCode(err, errCodeNoResources, errCodeNoStorage, errCodeStoreFailed, jetstream.JSErrCodeStreamNotFound)
	}
	return isUnsettled(err)
}

// errCodeStoreFailed is the server's error code for a message that it can't store, most often because the
// stream is full.
const errCodeStoreFailed jetstream.ErrorCode = 10077

// heal does what a coordinator can do about streams that have failed for long, given the errors of the last
// lookups of the stream of results and that of tasks. It deletes no stream of tasks that was made after the
// outage began, as by another coordinator.
func (b *Bus) heal(ctx context.Context, results, err error) {
	if ctx.Err() != nil {
		return
	}
	b.outages.note(resultsStream, b.isOutage(results))
	b.advise(ctx, ResultsPart)
	b.advise(ctx, RecordsPart)
	silent := b.outages.note(tasksStream, b.isOutage(err))
	if silent = max(silent, b.outages.length(publishedTasks), b.outages.length(deliveredTasks)); silent <= b.outages.stuckAfter() || !b.outages.mayTry() || !b.canMakeStreams(ctx) {
		return
	}
	now, failed := ask(ctx, b, func(ctx context.Context) (jetstream.Stream, error) { return b.js.Stream(ctx, tasksStream) })
	switch {
	case failed == nil && (err != nil || !b.outages.areOf(now.CachedInfo().Created)):
		b.outages.sawTasks(now.CachedInfo().Created)
		return // it works, or somebody has made it again
	case failed != nil && !b.isOutage(failed):
		return // it is made if it is missing
	}
	b.log.Warn().Err(cmp.Or(failed, err)).Str("stream", tasksStream).Float64("seconds", silent.Seconds()).
		Msg("the stream of tasks has not worked for minutes, although the server can make other streams: making it again; its tasks are published again")
	if err := b.deleteStream(ctx, tasksStream); err != nil {
		b.log.Warn().Err(err).Msg("can't delete the stream of tasks, trying again")
		return
	}
	b.outages.note(tasksStream, false)
	b.outages.note(publishedTasks, false)
	b.outages.note(deliveredTasks, false)
}

// advise logs what to type when something has failed for a minute that is never deleted without a person.
func (b *Bus) advise(ctx context.Context, part Part) {
	silent := b.outages.length(part.Name())
	if part == ResultsPart { // a stream of which two of three copies are damaged can still be looked up
		silent = max(silent, b.outages.length(readResults))
	}
	if silent <= b.outages.stuckAfter()/2 || !b.limiter.Allow("advise "+part.Name()) {
		return
	}
	log := b.log.Warn().Str("what", part.Name()).Float64("seconds", silent.Seconds())
	if !b.canMakeStreams(ctx) {
		log.Msg("what runs keep on the server has not worked for a minute, and the server can't make a stream: start the servers of the cluster that are away, or look at the room on their disks")
		return
	}
	if b.embedded {
		log.Msg("what the run keeps on its embedded server has not worked for a minute: if it stays so, stop the coordinator, delete the folder nats in the folder of the run, and resume the run: no accepted result is lost")
		return
	}
	log.Str("command", b.resetCommand(part)).
		Msg("what runs keep on the server has not worked for a minute, although the server can make other streams: if it stays so, type the command, which deletes " + part.Loses())
}

// canMakeStreams reports whether the server can make a stream like those of this program: it makes one, and
// deletes it.
func (b *Bus) canMakeStreams(ctx context.Context) bool {
	name := probePrefix + rand.Text()
	_, err := b.createStream(ctx, jetstream.StreamConfig{
		Name: name, Description: "shows whether the server can make a stream", Subjects: []string{"nq.probe." + name},
		Storage: jetstream.FileStorage, MaxBytes: 1 << 10, Replicas: b.replicas(),
	}, false)
	if failed := b.deleteStream(ctx, name); failed != nil {
		b.log.Debug().Err(failed).Msg("can't delete a probe stream")
	}
	if err != nil {
		b.log.Debug().Err(err).Msg("the server can't make a stream")
	}
	return err == nil
}

// probePrefix begins the names of the streams of canMakeStreams, and of the consumers of canMakeConsumers.
const probePrefix = "NQ_PROBE_"

// deleteStream deletes a stream. A missing one is no error.
func (b *Bus) deleteStream(ctx context.Context, name string) error {
	if name == tasksStream {
		b.lastTaken.Store(nil)
	}
	ctx, done := b.request(ctx)
	if err := done(b.js.DeleteStream(ctx, name)); err != nil && !errors.Is(err, jetstream.ErrStreamNotFound) {
		return fmt.Errorf("delete stream %s: %w", name, err)
	}
	return nil
}
