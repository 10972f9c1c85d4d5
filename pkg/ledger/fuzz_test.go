package ledger

import (
	"bytes"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"nqueens/pkg/run"
)

// FuzzOpen changes bytes anywhere, and may correct the checksums of the meta pages: the
// ledger is refused, or returns nothing that was not written.
func FuzzOpen(f *testing.F) {
	folder := sampleLedger(f)
	sound, err := os.ReadFile(filepath.Join(folder, File))
	if err != nil {
		f.Fatal(err)
	}
	l, err := OpenReadOnly(folder)
	if err != nil {
		f.Fatal(err)
	}
	written := make(map[uint64]uint64) // count by task
	for r, err := range l.Range(0, math.MaxUint64) {
		if err != nil {
			f.Fatal(err)
		}
		written[r.Task] = r.Count
	}
	_ = l.Close()
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range 60 {
		edits := make([]byte, 0, 12)
		for range 1 + rng.IntN(3) {
			at := rng.IntN(len(sound))
			if i%2 == 0 {
				at = rng.IntN(len(sound)/pageSize)*pageSize + rng.IntN(80)
			}
			edits = append(edits, byte(at>>16), byte(at>>8), byte(at), 1<<rng.IntN(8))
		}
		f.Add(edits, uint32(0), i%3 == 0)
	}
	for cut := range uint32(len(sound) / 1000) {
		f.Add([]byte{}, cut*1000, false)
	}
	f.Fuzz(func(t *testing.T, edits []byte, cut uint32, resum bool) {
		data := slices.Clone(sound)
		for ; len(edits) >= 4; edits = edits[4:] {
			at := int(edits[0])<<16 | int(edits[1])<<8 | int(edits[2])
			data[at%len(data)] ^= edits[3]
		}
		for id := range uint64(metaPages) {
			if resum {
				b := fakeFile{pages: map[uint64][]byte{id: data[id*pageSize:][:pageSize]}}
				b.sum(id)
			}
		}
		data = data[:len(data)-int(cut%uint32(len(data)))]
		folder := t.TempDir()
		if err := os.WriteFile(filepath.Join(folder, File), data, 0o600); err != nil {
			t.Fatal(err)
		}
		for _, how := range []func(string) (*Ledger, error){OpenReadOnly, OpenTolerant, openWriter} {
			l, err := how(folder)
			if err != nil {
				continue
			}
			for r, err := range l.Range(0, math.MaxUint64) {
				if err != nil && l.mode == tolerant && len(l.Damaged()) > 0 {
					break
				}
				if err != nil {
					t.Errorf("Range fails after the file was opened: %v", err)
				} else if written[r.Task] != r.Count {
					t.Errorf("the result of task %d is %v", r.Task, r)
				}
			}
			if err := l.Close(); err != nil {
				t.Error(err)
			}
		}
	})
}

// FuzzRecord: no value makes the decoder panic, and a decoded result survives encoding and
// decoding.
func FuzzRecord(f *testing.F) {
	names := stringTable{ids: make(map[string]uint64)}
	names.intern("worker")
	names.intern("kernel")
	good := stored{Result: vote("worker", 1<<60), revoked: true, disputed: true}
	names.intern(good.Key)
	good.StatementID = 300
	value := encodeResult(&good, nameIDs{0, 1, 2, true})
	f.Add(encodeResult(&stored{Result: run.Result{Count: 1}}, nameIDs{worker: 0, kernel: 1}))
	f.Add(value)
	f.Add(value[:len(value)-1])
	f.Add(append(slices.Clone(value), 0))
	f.Add([]byte("1234567"))
	f.Add(append(make([]byte, 8), 1, 0xff, 0xff, 0xff, 0xff, 0x1f, 0, 1, 1, 0, 0))
	f.Add(append(make([]byte, 8), 0x80, 0x00, 1, 0, 1, 1, 0, 0))
	f.Fuzz(func(t *testing.T, value []byte) {
		r, err := parseResult(value, &names)
		if err != nil {
			return
		}
		ids := nameIDs{hasKey: r.Key != ""}
		ids.worker, _ = names.intern(r.Worker)
		ids.kernel, _ = names.intern(r.Kernel)
		if ids.hasKey {
			ids.key, _ = names.intern(r.Key)
		}
		again, err := parseResult(encodeResult(&r, ids), &names)
		if err != nil || again != r || len(names.values) != 3 {
			t.Errorf("%x is decoded to %v, and encoded again to %v (%v)", value, r, again, err)
		}
	})
}

// FuzzStatement: no value makes the decoder panic, and a decoded statement survives encoding and
// decoding.
func FuzzStatement(f *testing.F) {
	names := stringTable{ids: make(map[string]uint64)}
	names.intern("key")
	value := appendStatement(nil, &run.Sealed{Signature: []byte("signature"), Statement: []byte("statement")}, 0)
	f.Add(value)
	f.Add(value[:3])
	f.Add([]byte{0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1})
	f.Fuzz(func(t *testing.T, value []byte) {
		s, err := parseStatement(value, &names)
		if err != nil {
			return
		}
		again, err := parseStatement(appendStatement(nil, &s, 0), &names)
		if err != nil || !bytes.Equal(again.Signature, s.Signature) || !bytes.Equal(again.Statement, s.Statement) || again.Key != s.Key {
			t.Errorf("%x is decoded to %v, and encoded again to %v (%v)", value, s, again, err)
		}
	})
}
