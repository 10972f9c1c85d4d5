package bus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

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

// oldestRecord is the oldest protocol version whose records this program can read. Unlike
// messages, records outlast the programs that wrote them.
const oldestRecord = 1

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
	var version struct {
		Protocol uint32 `json:"protocol"`
	}
	if err := json.Unmarshal(data, &version); err != nil {
		return nil, err
	}
	if err := checkProtocol(version.Protocol, ""); err != nil && (version.Protocol < oldestRecord || version.Protocol > Protocol) {
		return nil, err
	}
	var s storedRecord
	if err := json.Unmarshal(data, &s); err != nil {
		return nil, err
	}
	if err := s.State.Validate(); err != nil {
		return nil, err
	}
	switch {
	case s.Run != name:
		return nil, fmt.Errorf("it is of run %.80q", s.Run)
	case s.Manifest.N == 0:
		return nil, errors.New("it has no manifest")
	}
	if err := s.Bound.Validate(); err != nil {
		return nil, fmt.Errorf("it has %w", err)
	}
	if err := run.ValidateEpoch(s.Epoch); err != nil {
		return nil, fmt.Errorf("it has %w", err)
	}
	if err := queens.ValidateName("an owner", s.Owner); err != nil {
		return nil, fmt.Errorf("it has %w", err)
	}
	return &s, nil
}

// get returns the record of a run. Its error wraps ErrNoRecord if there is none.
func (r Registry) get(ctx context.Context, name string) (*storedRecord, error) {
	ctx = requestContext{ctx}
	if err := queens.ValidateRun(name); err != nil {
		return nil, err
	}
	bucket, err := r.bus.js.KeyValue(ctx, runsBucket)
	var entry jetstream.KeyValueEntry
	if err == nil {
		entry, err = bucket.Get(ctx, name)
	}
	switch {
	case errors.Is(err, jetstream.ErrBucketNotFound), errors.Is(err, jetstream.ErrKeyNotFound):
		return nil, fmt.Errorf("%w: %s", ErrNoRecord, name)
	case err != nil:
		return nil, bucketError(err)
	}
	s, err := decodeRecord(name, entry.Value())
	if err != nil {
		return nil, fmt.Errorf("record of run %s in bucket %s: %w; to delete it: nats kv del %[2]s %[1]s",
			name, runsBucket, err)
	}
	s.revision = entry.Revision()
	return s, nil
}

// put stores the record, updated now, if the bucket still has the record's revision, and
// reports whether it did. It creates a missing bucket.
func (r Registry) put(ctx context.Context, s *storedRecord) (stored bool, err error) {
	ctx = requestContext{ctx}
	s.Updated = time.Now()
	data, err := encodeRecord(*s)
	if err != nil {
		return false, err
	}
	bucket, err := r.bus.js.KeyValue(ctx, runsBucket)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		bucket, err = r.createBucket(ctx)
	}
	if err != nil {
		return false, bucketError(err)
	}
	var revision uint64
	if s.revision == 0 {
		revision, err = bucket.Create(ctx, s.Run, data)
	} else {
		revision, err = bucket.Update(ctx, s.Run, data, s.revision)
	}
	switch {
	case errors.Is(err, jetstream.ErrKeyExists), errors.Is(err, jetstream.ErrKeyRevisionMismatch):
		return false, nil
	case err != nil:
		return false, bucketError(err)
	}
	s.revision = revision
	return true, nil
}

// createBucket creates the bucket. While a server of the cluster is away, there may be too few for
// all replicas: then the bucket has one.
func (r Registry) createBucket(ctx context.Context) (jetstream.KeyValue, error) {
	cfg := jetstream.KeyValueConfig{
		Bucket: runsBucket, Description: "records of runs", History: 1, Storage: jetstream.FileStorage,
		Replicas: r.bus.replicas(),
	}
	bucket, err := r.bus.js.CreateKeyValue(ctx, cfg)
	if errors.Is(replicasError(err, cfg.Replicas), ErrReplicas) {
		cfg.Replicas = 1
		bucket, err = r.bus.js.CreateKeyValue(ctx, cfg)
	}
	return bucket, err
}

func bucketError(err error) error {
	return fmt.Errorf("bucket %s: %w", runsBucket, withHint(err))
}
