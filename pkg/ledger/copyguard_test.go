package ledger

import (
	"errors"
	"testing"
)

// slowWriter lets the ledger grow at the first write.
type slowWriter struct{ grow func() error }

func (w slowWriter) Write(p []byte) (int, error) { return len(p), w.grow() }

// A copy ends when the ledger has grown too much since it began.
func TestSlowCopyEnds(t *testing.T) {
	folder := sampleLedger(t)
	l, err := openWriter(folder)
	if err != nil {
		t.Fatal(err)
	}
	info, err := l.file.Stat()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		growth int64
		want   error
	}{{maxCopyGrowth, nil}, {maxCopyGrowth + 1, ErrSlowCopy}} {
		slow := slowWriter{func() error { return l.file.Truncate(info.Size() + c.growth) }}
		if err := l.WriteCopy(slow, func(int64) error { return nil }); !errors.Is(err, c.want) {
			t.Errorf("a ledger that grows by %d bytes: error %v, want %v", c.growth, err, c.want)
		}
		if err := l.file.Truncate(info.Size()); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := l.WriteCopy(slowWriter{func() error { return nil }}, func(int64) error { return nil }); err == nil {
		t.Error("a closed ledger is copied")
	}
}
