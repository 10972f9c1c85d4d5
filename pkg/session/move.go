package session

import (
	"cmp"
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"nqueens/pkg/bus"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
)

// A run that is resumed with another server removes from the last one what it left there. This file
// finds out whether it has moved, and removes.

// embedded is what the ledger has for the embedded server, in place of an address.
const embedded = run.Embedded

const (
	// leaveTimeout bounds the time in which a run that has moved is removed from the server that
	// it used before. It is long enough for the record of a coordinator that was killed there to
	// become stale.
	leaveTimeout = 2 * run.StaleAfter
	// leaveGrace bounds the time for that after the run has ended.
	leaveGrace = 2 * time.Second
	// leaveInterval is how often to look whether the record is stale.
	leaveInterval = time.Second
)

// Why nothing is removed.
var (
	errSameServer = errors.New("it is the same server under another address")
	errStillUsed  = errors.New("another coordinator works on the run there: stop that one")
	errOutOfTime  = errors.New("the run ended before that")
)

// noteServer stores which server the run uses now. If the run used another one before, it says so
// and begins to remove from that one what the run left there; the count does not wait for it. The
// caller calls done when the run has ended.
func (s *Session) noteServer(ctx context.Context, server *connection) (done func(), err error) {
	done = func() {}
	before, now := s.ledger.Server(), server.location()
	if before == now {
		return done, nil
	}
	moved := before != "" && !overlap(before, now)
	var here time.Time
	if moved {
		if here, err = s.bus.Results().Created(ctx); err != nil {
			return done, s.wrapSetupError(ctx, err)
		}
		moved = !here.Equal(s.ledger.Position().Created) // else the same server has another address
	}
	if err := s.ledger.SetServer(now); err != nil || !moved {
		return done, err
	}
	s.log.Info().Str("run", s.Name()).Str("from", before).Str("to", now).Msg("run moved to another server")
	ctx, cancel := context.WithTimeoutCause(ctx, leaveTimeout, errStillUsed)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.leave(ctx, before, now, here)
	}()
	return func() {
		select {
		case <-ended:
		case <-time.After(leaveGrace):
		}
		cancel()
		<-ended
	}, nil
}

// leave removes from a server what the run left there, and logs whether that succeeded. The stream
// of results on the server that the run uses now was created at that time.
func (s *Session) leave(ctx context.Context, before, now string, here time.Time) {
	var err error
	if before == embedded {
		err = os.RemoveAll(s.cfg.Store.ServerFolder(s.Name()))
	} else {
		err = s.removeFrom(ctx, before, now, here)
	}
	switch {
	case err == nil:
		s.log.Info().Str("server", before).Msg("removed what the run had left on the server that it used before")
	case errors.Is(err, errSameServer):
		s.log.Info().Str("server", before).Msg("nothing to remove: " + err.Error())
	default:
		s.log.Warn().Err(err).Str("server", before).
			Msg("can't remove what the run left on the server that it used before: it is not needed, and does no harm")
	}
}

// removeFrom removes the run from the server at one of these addresses, unless another coordinator
// works on it there, or the server is the one that the run uses now. It tells those who watch the
// run there where it is now.
func (s *Session) removeFrom(ctx context.Context, addresses, now string, here time.Time) error {
	b, err := connectFirst(ctx, addresses, s.cfg.Credentials)
	if err != nil {
		return err
	}
	defer b.Close()
	switch there, err := b.Results().Created(ctx); {
	case err != nil:
		return err
	case there.Equal(here):
		return errSameServer
	}
	for {
		record, err := b.Registry().Record(ctx, s.Name())
		if errors.Is(err, bus.ErrNoRecord) || err == nil && !record.IsActive() {
			break
		}
		select {
		case <-ctx.Done():
			// A record that can't be read may be that of a coordinator of a newer program.
			return cmp.Or(err, outOfTime(ctx))
		case <-time.After(leaveInterval):
		}
	}
	if err := b.Telemetry().PublishSnapshot(s.moved(now)); err != nil {
		s.log.Debug().Err(err).Msg("the move was not published on the server that the run used before")
	}
	return b.Registry().Delete(ctx, s.Name())
}

// moved is the last snapshot of the run for a server that it has left.
func (s *Session) moved(now string) *run.Snapshot {
	m := s.ledger.Header().Manifest
	first, _, _ := strings.Cut(now, ",")
	return &run.Snapshot{
		Run: s.Name(), N: m.N, Symmetry: m.Symmetry, Placed: m.Placed, State: run.Stopped,
		Tasks: m.Tasks, Solutions: new(run.Decimal), MovedTo: queens.SanitizeName(first),
	}
}

// connectFirst connects to the first of these addresses that answers.
func connectFirst(ctx context.Context, addresses string, credentials bus.Credentials) (b *bus.Bus, err error) {
	for address := range strings.SplitSeq(addresses, ",") {
		if ctx.Err() != nil {
			return nil, outOfTime(ctx)
		}
		// Without a log: that this connection ends is no news.
		b, err = bus.Connect(bus.Config{URL: address, Credentials: credentials, Name: "nqueens coordinator leaves", Lease: bus.DefaultLease, Log: zerolog.Nop()})
		if err == nil {
			return b, nil
		}
	}
	return nil, err
}

// outOfTime returns why there is no time any more to remove the run.
func outOfTime(ctx context.Context) error {
	if errors.Is(context.Cause(ctx), errStillUsed) {
		return errStillUsed
	}
	return errOutOfTime
}

// location returns what the ledger stores of the server: its addresses, without passwords.
func (c *connection) location() string {
	if c.embedded != nil {
		return embedded
	}
	return c.publicURL()
}

// overlap reports whether two lists have an address in common.
func overlap(a, b string) bool {
	have := strings.Split(a, ",")
	return slices.ContainsFunc(strings.Split(b, ","), func(address string) bool { return slices.Contains(have, address) })
}
