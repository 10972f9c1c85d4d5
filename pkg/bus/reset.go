package bus

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"
)

// Part is a part of what runs keep on the server, which [Bus.Reset] deletes.
type Part string

// The parts.
const (
	TasksPart   Part = "tasks"
	ResultsPart Part = "results"
	RecordsPart Part = "records"
)

// Parts are all parts.
var Parts = []Part{ResultsPart, RecordsPart, TasksPart}

// parts are the streams of the parts, their names for people, and what is lost with them.
var parts = map[Part]struct{ stream, name, loses string }{
	TasksPart: {tasksStream, tasksStream,
		"the chunks of tasks that wait for workers, of all runs: their coordinators publish them again"},
	ResultsPart: {resultsStream, resultsStream,
		"the results of all runs that no coordinator has read yet: their tasks are counted again"},
	RecordsPart: {bucketStream, runsBucket,
		"the records of all runs: coordinators that are running store theirs again, and others when they are resumed; that a run was cancelled is forgotten"},
}

// Validate returns an error for an unknown part.
func (p Part) Validate() error {
	if _, ok := parts[p]; !ok {
		return fmt.Errorf("%.80q is no part of what runs keep on the server: it is %s, %s or %s", string(p), ResultsPart, RecordsPart, TasksPart)
	}
	return nil
}

// Name returns the name of the part's stream or bucket.
func (p Part) Name() string { return parts[p].name }

// Loses says for people what is lost with the part.
func (p Part) Loses() string { return parts[p].loses }

// partError is an error about a part.
type partError struct {
	part Part
	error
}

func (e *partError) Unwrap() error { return e.error }

// partOf returns the part of a stream.
func partOf(stream string) Part {
	for part, is := range parts {
		if is.stream == stream {
			return part
		}
	}
	return ""
}

// resetCommand returns what to type to delete a part.
func (b *Bus) resetCommand(part Part) string {
	return fmt.Sprintf("coordinator reset %s --nats %s --yes", part, b.displayURL)
}

// resetHint adds to an error that shows that a part does not work what to type if that lasts. The server in
// this process has a folder of its own, which resume does not need.
func (b *Bus) resetHint(part Part, err error) error {
	switch {
	case !b.isOutage(err) || errors.Is(err, nats.ErrNoResponders):
		return err
	case b.embedded:
		return fmt.Errorf("%w: if this lasts, delete the folder nats in the folder of the run", err)
	}
	return fmt.Errorf("%w: if this lasts although all servers are there, delete what it keeps, for all runs: %s", err, b.resetCommand(part))
}

// Reset deletes a part, of all runs. Coordinators that are running make it again. A part that does not exist
// is no error.
func (b *Bus) Reset(ctx context.Context, part Part) error {
	if err := part.Validate(); err != nil {
		return err
	}
	return b.untilSettled(ctx, func() error { return b.deleteStream(ctx, parts[part].stream) })
}
