package notify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"nqueens/pkg/backoff"
	"nqueens/pkg/durable"
)

// An Outbox is the events of a run that are not delivered yet. It is a file in the folder of the run, there until the
// event of its end is delivered. Several goroutines and processes may use it at once: each change reads the file, and
// replaces it under a lock. Two that deliver at once may deliver an event twice.
type Outbox struct {
	folder string
	log    zerolog.Logger
	wake   chan struct{} // has room for one
}

// stored is the content of the file.
type stored struct {
	Version int       `json:"version"`
	Targets string    `json:"targets"` // path of the file of targets
	Ended   bool      `json:"ended"`   // the event of the end was added
	Events  []waiting `json:"events"`  // in the order in which they happened
}

// waiting is an event that some targets do not have.
type waiting struct {
	Event
	Delivered []string `json:"delivered"` // keys of the targets that have it
}

const (
	file     = "notify.json"
	lockFile = "notify.lock"
	version  = 1
	lockWait = 10 * time.Second // a change takes milliseconds
)

// Create returns the outbox of a run in its folder, which delivers to the targets in a file from now on.
func Create(folder, targets string, log zerolog.Logger) (*Outbox, error) {
	o := newOutbox(folder, log)
	path, err := filepath.Abs(targets)
	if err == nil {
		err = o.change(func(s *stored, _ bool) bool {
			s.Version, s.Targets = version, path
			return true
		})
	}
	if err != nil {
		return nil, err
	}
	return o, nil
}

// Open returns the outbox of a run in its folder. The error wraps [os.ErrNotExist] if there is none.
func Open(folder string, log zerolog.Logger) (*Outbox, error) {
	o := newOutbox(folder, log)
	if _, err := o.read(); err != nil {
		return nil, err
	}
	return o, nil
}

func newOutbox(folder string, log zerolog.Logger) *Outbox {
	return &Outbox{folder: folder, log: log, wake: make(chan struct{}, 1)}
}

func (o *Outbox) path() string { return filepath.Join(o.folder, file) }

func (o *Outbox) read() (s stored, err error) {
	text, err := os.ReadFile(o.path())
	if err != nil {
		return s, err
	}
	if err := json.Unmarshal(text, &s); err != nil {
		return s, fmt.Errorf("%s can't be read: %w", o.path(), err)
	}
	if s.Version != version {
		return s, fmt.Errorf("%s has format %d, and this program reads format %d", o.path(), s.Version, version)
	}
	return s, nil
}

// change changes the file while nobody else does. f learns whether there is one, and reports whether there is to be one.
func (o *Outbox) change(f func(s *stored, exists bool) (keep bool)) error {
	unlock, err := durable.LockPath(filepath.Join(o.folder, lockFile), lockWait)
	if err != nil {
		return err
	}
	defer unlock()
	s, err := o.read()
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	exists := err == nil
	switch keep := f(&s, exists); {
	case keep:
		return durable.WriteJSON(o.path(), &s)
	case exists:
		return o.Remove()
	}
	return os.RemoveAll(filepath.Join(o.folder, lockFile))
}

// update changes the file, unless it was removed: then every target knows the end of the run.
func (o *Outbox) update(f func(*stored)) error {
	return o.change(func(s *stored, exists bool) bool {
		if exists {
			f(s)
		}
		return exists && (!s.Ended || len(s.Events) > 0)
	})
}

// Remove removes the outbox with what is in it.
func (o *Outbox) Remove() error {
	return errors.Join(os.RemoveAll(o.path()), os.RemoveAll(filepath.Join(o.folder, lockFile)))
}

// Add adds an event, and wakes [Outbox.Run]. The event is on disk then. The event of the end is added once.
func (o *Outbox) Add(e Event) error {
	defer func() {
		select {
		case o.wake <- struct{}{}:
		default:
		}
	}()
	return o.update(func(s *stored) {
		ends := e.Kind == Complete || e.Kind == Contradicted
		if ends && s.Ended {
			return
		}
		s.Ended = s.Ended || ends
		s.Events = append(s.Events, waiting{Event: e})
	})
}

const (
	leastPause = time.Second
	mostPause  = 5 * time.Minute
)

// Run delivers events as they are added, and what has failed again after a pause, until the event of the end is
// delivered or ctx ends. It logs the first failure of several.
func (o *Outbox) Run(ctx context.Context) {
	pauses := backoff.Backoff{Least: leastPause, Most: mostPause}
	level := zerolog.WarnLevel
	for {
		var again <-chan time.Time
		switch done, err := o.Deliver(ctx); {
		case done:
			return
		case err == nil:
			pauses.Reset()
			level = zerolog.WarnLevel
		case ctx.Err() == nil:
			o.log.WithLevel(level).Err(err).Msg("a notification is not delivered, and is tried again")
			level = zerolog.DebugLevel
			again = time.After(pauses.Pause())
		}
		select {
		case <-ctx.Done():
			return
		case <-o.wake:
		case <-again:
		}
	}
}

// Deliver gives each event to each target that does not have it, all targets at once. It reports whether the run
// has ended and every target knows; then the outbox is removed. The error says what has failed, without the
// targets. Calls must not overlap.
func (o *Outbox) Deliver(ctx context.Context) (done bool, err error) {
	s, err := o.read()
	if err == nil && len(s.Events) > 0 {
		if err := o.deliver(ctx, &s); err != nil {
			return false, err
		}
		_, err = o.read()
	}
	if errors.Is(err, os.ErrNotExist) {
		return true, nil
	}
	return false, err
}

// deliver gives the events to the targets, and drops those that all have.
func (o *Outbox) deliver(ctx context.Context, s *stored) error {
	targets, err := readTargets(s.Targets)
	if err != nil {
		return err
	}
	errs := make([]error, len(targets))
	var group sync.WaitGroup
	for i := range targets {
		group.Go(func() { errs[i] = o.deliverTo(ctx, s, &targets[i]) })
	}
	group.Wait()
	return errors.Join(append(errs, o.update(func(s *stored) {
		s.Events = slices.DeleteFunc(s.Events, func(e waiting) bool {
			return !slices.ContainsFunc(targets, func(t target) bool { return !slices.Contains(e.Delivered, t.key()) })
		})
	}))...)
}

// deliverTo gives a target the events that it does not have, in their order, until one fails.
func (o *Outbox) deliverTo(ctx context.Context, s *stored, t *target) error {
	for i := range s.Events {
		e := &s.Events[i]
		if slices.Contains(e.Delivered, t.key()) {
			continue
		}
		if err := t.send(ctx, &e.Event); err != nil {
			return fmt.Errorf("line %d of %s: %w", t.line, s.Targets, err)
		}
		o.log.Info().Str("run", e.Run).Str("event", string(e.Kind)).Int("line", t.line).Msg("notified")
		err := o.update(func(s *stored) {
			if i := slices.IndexFunc(s.Events, func(w waiting) bool { return w.ID == e.ID }); i >= 0 {
				s.Events[i].Delivered = append(s.Events[i].Delivered, t.key())
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}
