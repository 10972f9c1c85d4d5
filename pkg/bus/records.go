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

// keptRecord is a record as it lies in the bucket.
type keptRecord struct {
	run.Record
	claim    string // tells claims of the same epoch apart
	revision uint64 // 0 where there is none
}

// record returns what the bucket has of a run, with revision 0 and an error that wraps
// ErrNoRecord where it has nothing.
func (b *Bus) record(ctx context.Context, run string) (keptRecord, error) {
	if err := queens.ValidateRun(run); err != nil {
		return keptRecord{}, err
	}
	bucket, err := b.js.KeyValue(ctx, runsBucket)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		return keptRecord{}, fmt.Errorf("%w: %s", ErrNoRecord, run)
	}
	if err != nil {
		return keptRecord{}, bucketError(err)
	}
	entry, err := bucket.Get(ctx, run)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return keptRecord{}, fmt.Errorf("%w: %s", ErrNoRecord, run)
	}
	if err != nil {
		return keptRecord{}, bucketError(err)
	}
	kept, err := decodeRecord(run, entry.Value())
	if err != nil {
		return keptRecord{}, fmt.Errorf("record of run %s in bucket %s: %w; to do without it: nats kv del %s %s", run, runsBucket, err, runsBucket, run)
	}
	kept.revision = entry.Revision()
	return kept, nil
}

// keep stores the record, updated now, and reports whether it did: not where the
// bucket has another revision. It makes the bucket where there is none.
func (b *Bus) keep(ctx context.Context, kept *keptRecord) (stored bool, err error) {
	kept.Updated = time.Now()
	data, err := encodeRecord(kept)
	if err != nil {
		return false, err
	}
	bucket, err := b.js.KeyValue(ctx, runsBucket)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		bucket, err = b.js.CreateKeyValue(ctx, jetstream.KeyValueConfig{
			Bucket: runsBucket, Description: "records of runs", History: 1, Storage: jetstream.FileStorage,
		})
	}
	if err != nil {
		return false, bucketError(err)
	}
	var revision uint64
	if kept.revision == 0 {
		revision, err = bucket.Create(ctx, kept.Run, data)
	} else {
		revision, err = bucket.Update(ctx, kept.Run, data, kept.revision)
	}
	if errors.Is(err, jetstream.ErrKeyExists) || errors.Is(err, jetstream.ErrKeyRevisionMismatch) {
		return false, nil
	}
	if err != nil {
		return false, bucketError(err)
	}
	kept.revision = revision
	return true, nil
}

// removeRecord removes a run's record and leaves no marker of it.
func (b *Bus) removeRecord(ctx context.Context, run string) error {
	return b.purge(ctx, "KV_"+runsBucket, "$KV."+runsBucket+"."+run)
}

func bucketError(err error) error {
	return fmt.Errorf("bucket %s: %w", runsBucket, advise(err))
}

// recordJSON is the form in which a record is kept: JSON, for people with the tools of
// NATS to read.
type recordJSON struct {
	Protocol uint32          `json:"protocol"`
	Run      string          `json:"run"`
	State    run.State       `json:"state"`
	Epoch    uint64          `json:"epoch"`
	Claim    string          `json:"claim"`
	Owner    string          `json:"owner"`
	Done     uint64          `json:"done"`
	Created  time.Time       `json:"created"`
	Updated  time.Time       `json:"updated"`
	Manifest queens.Manifest `json:"manifest"`
}

func encodeRecord(kept *keptRecord) ([]byte, error) {
	return json.Marshal(recordJSON{
		Protocol: Protocol, Run: kept.Run, State: kept.State, Epoch: kept.Epoch, Claim: kept.claim, Owner: queens.SanitizeName(kept.Owner),
		Done: kept.Done, Created: kept.Created.UTC(), Updated: kept.Updated.UTC(), Manifest: kept.Manifest,
	})
}

// decodeRecord returns the valid record of that run.
func decodeRecord(name string, data []byte) (keptRecord, error) {
	var version struct {
		Protocol uint32 `json:"protocol"`
	}
	if err := json.Unmarshal(data, &version); err != nil {
		return keptRecord{}, err
	}
	if err := checkProtocol(version.Protocol, ""); err != nil {
		return keptRecord{}, err
	}
	var kept recordJSON
	if err := json.Unmarshal(data, &kept); err != nil {
		return keptRecord{}, err
	}
	switch kept.State {
	case run.Running, run.Stopped, run.Complete, run.Contradicted, run.Cancelled:
	default:
		return keptRecord{}, fmt.Errorf("no run has the state %.80q", kept.State)
	}
	switch {
	case kept.Run != name:
		return keptRecord{}, fmt.Errorf("it is of run %.80q", kept.Run)
	case kept.Epoch == 0:
		return keptRecord{}, errors.New("it has no epoch")
	case kept.Manifest.N == 0:
		return keptRecord{}, errors.New("it has no manifest")
	}
	if err := queens.ValidateName("an owner", kept.Owner); err != nil {
		return keptRecord{}, fmt.Errorf("it has %w", err)
	}
	return keptRecord{
		Record: run.Record{
			Run: kept.Run, Manifest: kept.Manifest, State: kept.State, Epoch: kept.Epoch, Owner: kept.Owner,
			Done: kept.Done, Created: kept.Created, Updated: kept.Updated,
		},
		claim: kept.Claim,
	}, nil
}
