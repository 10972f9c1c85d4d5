package ledger_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"nqueens/pkg/ledger"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
)

// A bit that flips anywhere, or all that there are in the headers of the pages that
// lead to others, never makes the ledger say what was not written: the file is
// rejected, or says what it said, or what it said one transaction ago where the newest
// meta page was hit, or names the results that are lost. Under the race detector it is
// a random fifth of those bits.
func TestBitFlips(t *testing.T) {
	s := newDamageSample(t)
	data, _ := s.last()
	branches := 0
	var bits []int
	for start := 0; start < len(data); start += page {
		end := 0
		switch flags := binary.NativeEndian.Uint16(data[start+8:]); {
		case start < 2*page:
			end = 80 // the header of the page, and the meta page
		case flags == branch:
			branches++
			end = 32 // the header, and the first element
		}
		for bit := range end * 8 {
			bits = append(bits, start*8+bit)
		}
	}
	if branches == 0 {
		t.Error("the ledger has no branch page: it shows too little")
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	for range 2000 {
		bits = append(bits, rng.IntN(len(data)*8))
	}
	rng.Shuffle(len(bits), func(i, j int) { bits[i], bits[j] = bits[j], bits[i] })
	if underRace {
		bits = bits[:len(bits)/5]
	}
	for part := range slices.Chunk(bits, len(bits)/2+1) {
		t.Run(fmt.Sprintf("%d bits from %d", len(part), part[0]), func(t *testing.T) {
			t.Parallel()
			folder, data := t.TempDir(), slices.Clone(data)
			outcomes := make(map[string]int)
			for _, bit := range part {
				data[bit/8] ^= 1 << (bit % 8)
				outcomes[s.tryDamaged(t, folder, data, fmt.Sprintf("bit %d of byte %d, page %d", bit%8, bit/8%page, bit/8/page))]++
				data[bit/8] ^= 1 << (bit % 8)
			}
			t.Logf("the outcomes are %v", outcomes)
			if outcomes["same"] == 0 || outcomes["refused"] == 0 || outcomes["repaired"] == 0 {
				t.Errorf("the flips show too little: %v", outcomes)
			}
		})
	}
}

// A file that was cut short anywhere is refused, unless what it lost was never used.
func TestTruncation(t *testing.T) {
	s := newDamageSample(t)
	data, _ := s.last()
	folder := t.TempDir()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	lengths := []int{0, 1, 15, 16, 79, 80}
	for length := page; length <= len(data); length += page {
		lengths = append(lengths, length-1, length, min(length+1, len(data)), length-rng.IntN(page))
	}
	outcomes := make(map[string]int)
	for _, length := range lengths {
		outcomes[s.tryDamaged(t, folder, data[:length], fmt.Sprintf("cut to %d bytes", length))]++
	}
	if outcomes["refused"] == 0 || outcomes["same"] == 0 || outcomes["repaired"] > 0 {
		t.Errorf("the outcomes are %v", outcomes)
	}
}

// A page that became another, or zeros, or noise, is found.
func TestPagesOverwritten(t *testing.T) {
	s := newDamageSample(t)
	sound, _ := s.last()
	folder := t.TempDir()
	noise := make([]byte, page)
	rng := rand.New(rand.NewPCG(3, 4))
	for i := range noise {
		noise[i] = byte(rng.Uint32())
	}
	pages := len(sound) / page
	for id := range pages {
		for i, other := range [][]byte{make([]byte, page), noise, sound[(id+1)%pages*page:][:page], sound[rng.IntN(pages)*page:][:page]} {
			data := slices.Clone(sound)
			copy(data[id*page:], other)
			if outcome := s.tryDamaged(t, folder, data, fmt.Sprintf("page %d, overwritten by the kind %d", id, i)); outcome == "repaired" {
				t.Errorf("page %d, overwritten by the kind %d, is repaired", id, i)
			}
		}
	}
}

// When the power fails in the middle of a transaction, the disk has any of its pages
// and not its meta page, or half of that. What is there then is the transaction
// before, with its position.
func TestPowerCut(t *testing.T) {
	s := newDamageSample(t)
	folder := t.TempDir()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	for range 200 {
		i := 1 + rng.IntN(len(s.files)-1)
		data, after := slices.Clone(s.files[i-1]), s.files[i]
		if len(after) > len(data) && rng.IntN(2) == 0 {
			data = append(data, make([]byte, len(after)-len(data))...)
		}
		for start := 2 * page; start < min(len(data), len(after)); start += page {
			if rng.IntN(2) == 0 {
				copy(data[start:start+page], after[start:])
			}
		}
		if rng.IntN(2) == 0 {
			newest := page * (newestTransaction(after) % 2)
			half := 16 + 48 + rng.IntN(8) // the transaction's number is there, the checksum is not
			copy(data[newest:newest+half], after[newest:])
		}
		if err := os.WriteFile(filepath.Join(folder, file), data, 0o600); err != nil {
			t.Fatal(err)
		}
		l, err := openWriter(folder)
		if err != nil {
			t.Fatalf("before transaction %d: %v", i, err)
		}
		if got := contentsOf(t, l); !got.equal(s.states[i-1]) {
			t.Fatalf("before transaction %d it is at %v with %d results, want %v with %d",
				i, got.Position, len(got.Results), s.states[i-1].Position, len(s.states[i-1].Results))
		}
		closed(t, l)
	}
}

func newestTransaction(data []byte) int {
	number := func(at int) int { return int(binary.NativeEndian.Uint64(data[at+16+48:])) }
	return max(number(0), number(page))
}

// A file that is cut short, or damaged, while it is open ends its use with an error,
// and can still be closed.
func TestDamagedWhileOpen(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a file that is mapped can't be cut short on Windows")
	}
	s := newDamageSample(t)
	data, want := s.last()
	for name, c := range map[string]struct {
		length int64
		use    func(*ledger.Ledger) error
	}{
		"Accept, nothing left": {0, func(l *ledger.Ledger) error {
			_, err := l.Accept([]queens.Result{result(3001, 1, 1)}, nil, position(100))
			return err
		}},
		"Accept, meta pages left": {2 * page, func(l *ledger.Ledger) error {
			_, err := l.Accept([]queens.Result{result(3001, 1, 1)}, nil, position(100))
			return err
		}},
		"All": {2 * page, func(l *ledger.Ledger) error {
			for _, err := range l.All() {
				if err != nil {
					return err
				}
			}
			return nil
		}},
		"Result, nothing left": {0, func(l *ledger.Ledger) error {
			_, _, err := l.Result(want.Results[0].Task)
			return err
		}},
		"Evidence":             {2 * page, func(l *ledger.Ledger) error { _, err := l.Rejections(); return err }},
		"SetState, none left":  {0, func(l *ledger.Ledger) error { return l.SetState(run.Stopped) }},
		"SetState, metas left": {2 * page, func(l *ledger.Ledger) error { return l.SetState(run.Stopped) }},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			if err := os.WriteFile(filepath.Join(folder, file), data, 0o600); err != nil {
				t.Fatal(err)
			}
			l := open(t, openWriter, folder)
			if err := os.Truncate(filepath.Join(folder, file), c.length); err != nil {
				t.Fatal(err)
			}
			var damaged *ledger.DamagedError
			err := c.use(l)
			if !errors.As(err, &damaged) {
				t.Fatalf("the error is %v", err)
			}
			if again := c.use(l); !errors.Is(again, err) {
				t.Errorf("the error is %v, and later %v", err, again)
			}
			if !l.Has(want.Results[0].Task) || l.Len() != uint64(len(want.Results)) {
				t.Error("what is held in memory is gone")
			}
			closed(t, l)
			if _, err := openWriter(folder); !errors.As(err, &damaged) {
				t.Errorf("opened again, the error is %v", err)
			}
		})
	}
}
