package ledger_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"nqueens/pkg/ledger"
	"nqueens/pkg/run"
	"nqueens/pkg/testkit"
)

// After one bit of the file flips, the ledger never returns what was not written: the
// file is refused, or has the same contents, or those of one transaction before if the
// newest meta page was hit, or lists the results that are lost. The bits are all those in
// meta pages and at the beginning of branch pages, and 2000 others.
func TestBitFlips(t *testing.T) {
	s := newDamageSample(t)
	data, _ := s.last()
	branches := 0
	var bits []int
	for start := 0; start < len(data); start += page {
		end := 0
		switch flags := binary.NativeEndian.Uint16(data[start+8:]); {
		case start < 2*page:
			end = 80 // the page header and the meta page
		case flags == branch:
			branches++
			end = 32 // the page header and the first element
		}
		for bit := range end * 8 {
			bits = append(bits, start*8+bit)
		}
	}
	if branches == 0 {
		t.Error("the ledger has no branch page")
	}
	rng := testkit.Rand(t)
	for range 2000 {
		bits = append(bits, rng.IntN(len(data)*8))
	}
	folder, outcomes := t.TempDir(), make(map[string]int)
	for _, bit := range testkit.Sample(t, rounds(100, len(bits)), bits) {
		data[bit/8] ^= 1 << (bit % 8)
		outcomes[s.tryDamaged(t, folder, data, fmt.Sprintf("bit %d of byte %d, page %d", bit%8, bit/8%page, bit/8/page))]++
		data[bit/8] ^= 1 << (bit % 8)
	}
	t.Logf("outcomes: %v", outcomes)
	if testkit.Full() && (outcomes["same"] == 0 || outcomes["refused"] == 0 || outcomes["repaired"] == 0) {
		t.Error("some outcome never occurred")
	}
}

// A truncated file is refused, unless the part that is gone was never used.
func TestTruncation(t *testing.T) {
	s := newDamageSample(t)
	data, _ := s.last()
	folder := t.TempDir()
	rng := testkit.Rand(t)
	lengths := []int{0, 1, 15, 16, 79, 80}
	for length := page; length <= len(data); length += page {
		lengths = append(lengths, length-1, length, min(length+1, len(data)), length-rng.IntN(page))
	}
	outcomes := make(map[string]int)
	for _, length := range testkit.Sample(t, rounds(40, len(lengths)), lengths) {
		outcomes[s.tryDamaged(t, folder, data[:length], fmt.Sprintf("cut to %d bytes", length))]++
	}
	if outcomes["repaired"] > 0 || testkit.Full() && (outcomes["refused"] == 0 || outcomes["same"] == 0) {
		t.Errorf("outcomes: %v", outcomes)
	}
}

// A page overwritten with zeros, noise, or another page is detected.
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
	ids := make([]int, pages)
	for id := range ids {
		ids[id] = id
	}
	for _, id := range testkit.Sample(t, rounds(10, pages), ids) {
		for i, other := range [][]byte{make([]byte, page), noise, sound[(id+1)%pages*page:][:page], sound[rng.IntN(pages)*page:][:page]} {
			data := slices.Clone(sound)
			copy(data[id*page:], other)
			if outcome := s.tryDamaged(t, folder, data, fmt.Sprintf("page %d, overwritten in way %d", id, i)); outcome == "repaired" {
				t.Errorf("page %d, overwritten in way %d, is repaired", id, i)
			}
		}
	}
}

// When the power fails during a transaction, the disk may have any of its pages, but not
// its meta page, or half of it. The file then has the contents and the position of the
// transaction before.
func TestPowerCut(t *testing.T) {
	s := newDamageSample(t)
	folder := t.TempDir()
	rng := testkit.Rand(t)
	for range rounds(40, 200) {
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
			half := 16 + 48 + rng.IntN(8) // with the transaction number, without the checksum
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

// A file that is truncated while it is open makes the ledger unusable with an error; it
// can still be closed.
func TestDamagedWhileOpen(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows does not truncate a mapped file")
	}
	s := newDamageSample(t)
	data, want := s.last()
	for name, c := range map[string]struct {
		length int64
		use    func(*ledger.Ledger) error
	}{
		"Accept, nothing left": {0, func(l *ledger.Ledger) error {
			_, err := l.Accept([]run.Result{result(3001, 1, 1)}, 0, position(100))
			return err
		}},
		"Accept, meta pages left": {2 * page, func(l *ledger.Ledger) error {
			_, err := l.Accept([]run.Result{result(3001, 1, 1)}, 0, position(100))
			return err
		}},
		"Range": {2 * page, func(l *ledger.Ledger) error {
			for _, err := range l.Range(0, math.MaxUint64) {
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
				t.Error("what was in memory is gone")
			}
			closed(t, l)
			if _, err := openWriter(folder); !errors.As(err, &damaged) {
				t.Errorf("opened again, the error is %v", err)
			}
		})
	}
}
