package bus

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/nats-io/nats.go"
)

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
