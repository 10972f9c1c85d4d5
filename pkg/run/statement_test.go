package run_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"nqueens/pkg/queens"
	"nqueens/pkg/run"
)

// stated returns a result with large and small numbers and two kernels.
func stated() run.ChunkResult {
	return run.ChunkResult{
		Run: "n8-a", Manifest: queens.ManifestHash{0: 1, 31: 2}, Chunk: 7, First: 300, Worker: "w",
		Counted: time.Unix(1_800_000_000, 5).UTC(),
		Counts: []run.TaskCount{
			{Hash: math.MaxUint64, Count: math.MaxUint64, Kernel: "avx2", Elapsed: math.MaxInt64},
			{Hash: 1, Count: 0, Kernel: "generic", Elapsed: 0},
			{Hash: 2, Count: 4, Kernel: "avx2", Elapsed: time.Second},
		},
	}
}

func TestStatementsRoundTrip(t *testing.T) {
	want := stated()
	got, err := run.ParseStatement(want.Statement())
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v is read as %+v (error %v)", want, got, err)
	}
}

// Signatures outlast this program: the bytes that are signed never change.
func TestStatementIsPinned(t *testing.T) {
	r := stated()
	r.Counts = r.Counts[1:]
	const want = "6e717565656e7320636f756e747320310a" + // nqueens counts 1
		"046e382d61" + "0177" + // run, worker
		"0100000000000000000000000000000000000000000000000000000000000002" +
		"0000000000000007" + "18fae27693b40005" + // chunk, time
		"02" + "0767656e65726963" + "0461767832" + // kernels
		"ac02" + "02" + // first, tasks
		"0000000000000001" + "00" + "00" + "00" +
		"0000000000000002" + "04" + "8094ebdc03" + "01"
	if got := hex.EncodeToString(r.Statement()); got != want {
		t.Errorf("the statement is\n%s, want\n%s", got, want)
	}
}

// No other bytes say the same as a statement, and no part of one is a statement.
func TestOtherStatementsAreRefused(t *testing.T) {
	r := stated()
	statement := r.Statement()
	for end := range statement {
		if _, err := run.ParseStatement(statement[:end]); err == nil {
			t.Errorf("the first %d of %d bytes are a statement", end, len(statement))
		}
	}
	replaced := func(old, by string) []byte { return bytes.Replace(statement, []byte(old), []byte(by), 1) }
	for name, c := range map[string]struct {
		statement []byte
		say       string
	}{
		"nothing":                 {nil, "another format"},
		"another version":         {replaced("counts 1", "counts 2"), "another format"},
		"a byte more":             {append(bytes.Clone(statement), 0), "truncated"},
		"a long form of a number": {replaced("\x04n8-a", "\x84\x00n8-a"), "canonical"},
		"a kernel not used":       {replaced("\x02\x04avx2\x07generic", "\x03\x04avx2\x07generic\x01k"), "canonical"},
		"a number of 11 bytes":    {replaced("\x04n8-a", strings.Repeat("\xff", 10)+"\x01n8-a"), "too large"},
		"many tasks":              {replaced("\xac\x02\x03", "\xac\x02\x80\x20"), "truncated"},
		"too long":                {append(bytes.Clone(statement), make([]byte, run.MaxStatement)...), "more than 131072"},
		"an invalid run":          {replaced("n8-a", "N8-a"), "run name"},
	} {
		if _, err := run.ParseStatement(c.statement); err == nil || !strings.Contains(err.Error(), c.say) {
			t.Errorf("%s: error %v, want one that says %q", name, err, c.say)
		}
	}
}

// The largest result has a statement that is accepted.
func TestLargestStatement(t *testing.T) {
	r := run.ChunkResult{
		Run: strings.Repeat("n", 64), Chunk: math.MaxUint64, First: math.MaxUint64 - run.MaxChunk,
		Worker: strings.Repeat("w", 128), Counted: time.Unix(0, math.MaxInt64).UTC(), Counts: make([]run.TaskCount, run.MaxChunk),
	}
	for i := range r.Counts {
		r.Counts[i] = run.TaskCount{
			Hash: math.MaxUint64, Count: math.MaxUint64, Elapsed: math.MaxInt64, Kernel: fmt.Sprintf("%0128d", i%64),
		}
	}
	got, err := run.ParseStatement(r.Statement())
	if err != nil || !reflect.DeepEqual(got, r) {
		t.Errorf("a statement of %d bytes: error %v", len(r.Statement()), err)
	}
}

// Any bytes may arrive: what is read is valid and has these bytes as its statement.
func FuzzParseStatement(f *testing.F) {
	r := stated()
	f.Add(r.Statement())
	f.Add([]byte("nqueens counts 1\n"))
	f.Fuzz(func(t *testing.T, statement []byte) {
		r, err := run.ParseStatement(statement)
		if err != nil {
			return
		}
		if err := r.Validate(); err != nil || !bytes.Equal(r.Statement(), statement) {
			t.Fatalf("%x is read as %+v, which is %x (error %v)", statement, r, r.Statement(), err)
		}
	})
}

type signer struct{ err error }

func (signer) Key() string                        { return "the key" }
func (s signer) Sign(text []byte) ([]byte, error) { return []byte("signed"), s.err }

// A sealed result holds what was signed, with a name that can be shown; without a signature it is
// not sealed.
func TestSeal(t *testing.T) {
	r := stated()
	r.Worker = "rack\x1b7"
	if err := r.Seal(signer{}); err != nil {
		t.Fatal(err)
	}
	want := &run.Sealed{Key: "the key", Statement: r.Statement(), Signature: []byte("signed")}
	if r.Worker != "rack?7" || !reflect.DeepEqual(r.Sealed, want) {
		t.Errorf("worker %q has sealed %+v, want %+v", r.Worker, r.Sealed, want)
	}
	failed, broken := stated(), errors.New("broken")
	if err := failed.Seal(signer{broken}); !errors.Is(err, broken) || failed.Sealed != nil {
		t.Errorf("without a signature: error %v, sealed %v", err, failed.Sealed)
	}
}

func TestValidateKey(t *testing.T) {
	key := "U" + strings.Repeat("A2", 27) + "7"
	for text, valid := range map[string]bool{
		key: true, "": false, key[1:]: false, key + "A": false, "A" + key[1:]: false, "S" + key[1:]: false,
		strings.ToLower(key): false, key[:55] + "1": false, key[:55] + "\n": false, strings.Repeat("U", 1<<20): false,
	} {
		if err := run.ValidateKey(text); (err == nil) != valid || err != nil && len(err.Error()) > 500 {
			t.Errorf("%.80q: error %v", text, err)
		}
	}
}
