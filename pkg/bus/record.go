package bus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"nqueens/pkg/queens"
	"nqueens/pkg/run"
)

// storedRecord is a record as the bucket holds it: JSON, so that people can read it with
// the tools of NATS.
type storedRecord struct {
	Protocol uint32 `json:"protocol"`
	Claim    string `json:"claim"` // tells claims of the same epoch apart
	run.Record
	revision uint64 // in the bucket; 0 if there is no record
}

// cancelled returns the error that says that the run is cancelled, and since when.
func (s *storedRecord) cancelled() error {
	return fmt.Errorf("%w: %s, at %s UTC", ErrCancelled, s.Run, s.Updated.UTC().Format(time.DateTime))
}

func encodeRecord(s storedRecord) ([]byte, error) {
	s.Protocol, s.Owner = Protocol, queens.SanitizeName(s.Owner)
	s.Created, s.Updated = s.Created.UTC(), s.Updated.UTC()
	return json.Marshal(s)
}

// decodeRecord returns the valid record of that run.
func decodeRecord(name string, data []byte) (*storedRecord, error) {
	if err := checkJSONProtocol(data); err != nil {
		return nil, err
	}
	var s storedRecord
	if err := json.Unmarshal(data, &s); err != nil {
		return nil, err
	}
	switch {
	case s.Run != name:
		return nil, fmt.Errorf("it is of run %.80q", s.Run)
	case s.Manifest.N == 0:
		return nil, errors.New("it has no manifest")
	}
	if err := s.Validate(); err != nil {
		return nil, fmt.Errorf("it has %w", err)
	}
	return &s, nil
}

// get returns the record of a run. Its error wraps ErrNoRecord if there is none; what is returned then has the revision
// of the mark that a client has left who deleted it.
func (r Registry) get(ctx context.Context, name string) (*storedRecord, error) {
	if err := queens.ValidateRun(name); err != nil {
		return nil, err
	}
	m, err := r.direct(ctx, directGet+"."+bucketSubject+name, nil)
	if err != nil {
		return nil, err
	}
	missing := fmt.Errorf("%w: %s", ErrNoRecord, name)
	if m == nil {
		return new(storedRecord), missing
	}
	revision, err := strconv.ParseUint(m.Header.Get(jetstream.SequenceHeader), 10, 64)
	if err != nil {
		return nil, bucketError(fmt.Errorf("the record of run %s has no revision: %w", name, err))
	}
	if m.Header.Get("KV-Operation") != "" {
		return &storedRecord{revision: revision}, missing
	}
	s, err := decodeRecord(name, m.Data)
	if err != nil {
		return nil, fmt.Errorf("record of run %s in bucket %s: %w; to delete it: nats kv del %[2]s %[1]s", name, runsBucket, err)
	}
	s.revision = revision
	return s, nil
}

// directGet is the subject of requests for messages of the bucket's stream, which each server that
// has the stream answers, and which need no permission to change anything; see NATS ADR-31.
const directGet = "$JS.API.DIRECT.GET." + bucketStream

// directRetry is the pause before a bucket that exists, and does not answer yet, is asked again.
const directRetry = 50 * time.Millisecond

// direct requests a message of the bucket's stream. There may be none, nor a bucket.
func (r Registry) direct(ctx context.Context, subject string, request []byte) (m *nats.Msg, err error) {
	ctx, done := r.bus.request(ctx)
	defer func() {
		if err = done(err); err != nil {
			err = bucketError(err)
		}
	}()
	for {
		m, err = r.bus.conn.RequestWithContext(ctx, subject, request)
		if !errors.Is(err, nats.ErrNoResponders) {
			break
		}
		if _, absent := r.bus.js.Stream(ctx, bucketStream); noBucket(absent) {
			return nil, nil
		} else if absent != nil {
			return nil, absent
		}
		select { // the bucket was created in between, or a cluster moves it
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(directRetry):
		}
	}
	switch {
	case err != nil:
		return nil, err
	case m.Header.Get("Status") == "404":
		return nil, nil
	case m.Header.Get("Status") != "":
		return nil, fmt.Errorf("%s %s", m.Header.Get("Status"), m.Header.Get("Description"))
	}
	return m, nil
}

// noBucket reports whether an error says that there is no bucket. An account without streams, such as
// that of watchers, is not told.
func noBucket(err error) bool {
	return errors.Is(err, jetstream.ErrStreamNotFound) || hasCode(err, jetstream.JSErrCodeJetStreamNotEnabledForAccount)
}

// put stores the record, updated now, if the bucket still has the record's revision, and
// reports whether it did. It creates a missing bucket, and raises its replicas.
func (r Registry) put(ctx context.Context, s *storedRecord) (stored bool, err error) {
	s.Updated = time.Now()
	data, err := encodeRecord(*s)
	if err != nil {
		return false, err
	}
	_, err = r.bus.ensureStream(ctx, RecordsPart, bucketConfig(), false)
	err = r.bus.noStreams(err)
	var revision uint64
	if err == nil {
		revision, err = r.bus.publish(ctx, bucketStream, bucketSubject+s.Run, data, jetstream.WithExpectLastSequencePerSubject(s.revision))
	}
	if ctx.Err() == nil {
		r.bus.outages.note(RecordsPart, "store", r.bus.isOutage(err))
	}
	switch {
	case hasCode(err, jetstream.JSErrCodeStreamWrongLastSequence, jetstream.JSErrCodeStreamWrongLastSequenceConstant):
		return false, nil
	case errors.Is(err, context.DeadlineExceeded) && r.hasStored(ctx, s):
		return true, nil
	case err != nil:
		return false, bucketError(err)
	}
	s.revision = revision
	return true, nil
}

// hasStored reports whether the bucket has that very record, and notes its revision. A server that can't read
// the record before it stores a record, and does not say so.
func (r Registry) hasStored(ctx context.Context, s *storedRecord) bool {
	current, err := r.get(ctx, s.Run)
	if err != nil || current.Claim != s.Claim || !current.Updated.Equal(s.Updated) {
		return false
	}
	s.revision = current.revision
	return true
}

func bucketError(err error) error { return fmt.Errorf("bucket %s: %w", runsBucket, err) }
