package halves

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
)

// plainDevice joins units in plain Go. Its fields say what it has seen.
type plainDevice struct {
	atOnce, words int
	room          Room
	joins, units  int
	cut           bool // a unit was one of several with the same bin
	problem       string
	fails         error // Join returns it
	closed        int
}

func (d *plainDevice) Join(
	_ context.Context, l *Lists, pulse *atomic.Uint64,
) (pairs uint64, err error) {
	pulse.Add(1)
	d.joins++
	masks := 0
	for i := range 2 {
		masks += len(l.Binned[i]) + len(l.Streamed[i])
		if len(l.Cells[i]) > d.room.Cells || l.Cells[i] == nil && len(l.Streamed[i]) > 0 {
			d.problem = fmt.Sprintf("%d cells, room for %d", len(l.Cells[i]), d.room.Cells)
		}
	}
	if masks > d.room.Masks {
		d.problem = fmt.Sprintf("%d masks, room for %d", masks, d.room.Masks)
	}
	units, before := make([]Unit, d.atOnce), Unit{}
	for {
		next := units[:l.Next(units)]
		for _, u := range next {
			d.cut = d.cut || u.From == before.From && u.To == before.To
			before = u
			pairs += d.join(l, &u)
		}
		d.units += len(next)
		if len(next) < len(units) {
			return pairs, d.fails
		}
	}
}

// join returns the pairs of a unit.
func (d *plainDevice) join(l *Lists, u *Unit) (pairs uint64) {
	words := wordsFor(int(u.To[0]-u.From[0])) + wordsFor(int(u.To[1]-u.From[1]))
	if cells := u.cells(); cells > unitCells || words > d.words || words == 0 || u.Bits == 0 {
		d.problem = fmt.Sprintf("a unit of %d cells and %d words: %+v", cells, words, u)
	}
	for i, cells := range l.Cells {
		for value := uint32(0); cells != nil; {
			first := u.First + value
			stream := l.Streamed[i][cells[first]:cells[first+u.Size]]
			for k, binned := range l.Binned {
				bin := slices.Clone(binned[u.From[k]:u.To[k]])
				for j := range bin {
					bin[j] &= 1<<u.Bits - 1 // so that a bit above that is common is missed
				}
				pairs += uint64((1+i)*(1+k)) * compatible(bin, stream)
			}
			value = (value - u.Free) & u.Free
			if value == 0 {
				break
			}
		}
	}
	return pairs
}

func (d *plainDevice) Close() error {
	d.closed++
	return nil
}

// kernel returns a kernel whose counters join on this device.
func (d *plainDevice) kernel() Kernel {
	return WithDevice("plain", d.words, func(room Room) (Device, error) {
		d.room = room
		return d, nil
	})
}

// The units of a join have each pair once, and no pair that their upper bits exclude. They are
// small, and fit into the bins of the device. Large ones are cut.
func TestUnits(t *testing.T) {
	const bits, depth = 28, 15
	for seed := range uint64(30) {
		rng := rand.New(rand.NewPCG(seed, 0))
		var c crew
		c.reserve(1, generic)
		c.start(t.Context(), new(atomic.Uint64))
		var s sorter
		s.reserve(&c, 1<<(depth+4))
		j := joiner{bits: bits, depth: depth}
		for _, list := range []*sorted{&j.east, &j.westOnce, &j.westTwice} {
			list.cells(j.depth)
			list.masks = sparseMasks(rng, rng.IntN(1500), bits/chunk, 1+rng.IntN(3))
			s.sort(list, make([]uint64, 1500), bits, j.depth)
		}
		j.start()
		d := plainDevice{
			atOnce: 1 + rng.IntN(20), words: 2 + rng.IntN(15), room: Room{4500, 1<<depth + 1},
		}
		var l Lists
		l.set(&j, d.words)
		got, _ := d.Join(t.Context(), &l, new(atomic.Uint64))
		want := compatible(j.east.masks, j.westOnce.masks) + 2*compatible(j.east.masks, j.westTwice.masks)
		if got != want || d.problem != "" || !d.cut {
			t.Errorf("seed %d: %d pairs in %d units, want %d; %s", seed, got, d.units, want, d.problem)
		}
	}
}

// A counter that joins on a device counts what it counts without, also if lists come in parts. It
// closes the device once.
func TestDevice(t *testing.T) {
	test := func(n int, first, sets uint64, parts bool) {
		d := &plainDevice{atOnce: 7, words: 2}
		c := newCounter(t, n, d.kernel(), parts)
		got, want := count(t, c, first, sets), count(t, newCounter(t, n, generic, false), first, sets)
		if got != want || d.problem != "" || parts && (got == 0 || d.joins <= 3*int(sets)) {
			t.Errorf("n = %d, parts %v: %d in %d joins, want %d; %s", n, parts, got, d.joins, want,
				d.problem)
		}
		if err := c.Close(); err != nil || d.closed != 1 {
			t.Errorf("n = %d: the device was closed %d times: %v", n, d.closed, err)
		}
	}
	for n := 1; n <= 12; n++ {
		test(n, 0, Sets(n), false)
	}
	test(20, 3, 2, true)
}

// If a device fails, a count returns its error.
func TestDeviceFails(t *testing.T) {
	lost := errors.New("lost")
	d := &plainDevice{atOnce: 7, words: 2, fails: lost}
	c := newCounter(t, 11, d.kernel(), false)
	got, err := c.Count(t.Context(), 0, Sets(11), new(atomic.Uint64))
	if !errors.Is(err, lost) || got != 0 {
		t.Errorf("%d with the error %v, want %v", got, err, lost)
	}
	k := WithDevice("plain", 2, func(Room) (Device, error) { return nil, lost })
	if c, err := NewCounter(Config{N: 8, Kernel: k}); !errors.Is(err, lost) || c != nil {
		t.Errorf("a counter without its device has the error %v, want %v", err, lost)
	}
}
