package kerneltest

import (
	"encoding/binary"
	"math/bits"
	"testing"

	"nqueens/pkg/kernel"
	"nqueens/pkg/queens"
)

// Fuzz compares kernels with the oracle, and so with each other, on batches decoded from the
// fuzzer's bytes.
func Fuzz(f *testing.F, kernels ...kernel.Kernel) {
	f.Add([]byte(nil))
	for seed := range uint64(8) {
		rng := newRand(seed)
		noise := make([]byte, 20*(seed+1))
		for i := range noise {
			noise[i] = byte(rng.Uint32() & rng.Uint32())
		}
		f.Add(noise)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		b := decode(data)
		for _, k := range kernels {
			if err := b.countedBy(t.Context(), NewCounter(t, k)); err != nil {
				t.Errorf("kernel %s: %v", k.Name, err)
			}
		}
	})
}

// decode makes a batch from any bytes. The first byte decides the side. Then comes a word for each
// row: the squares that it does not allow. Then come three words for each of at most 16 prefixes:
// its columns and both kinds of diagonals. Missing bytes are 0, so a single byte makes a full board
// and its empty prefix. decode extends each prefix until its search is short.
func decode(data []byte) *batch {
	word := func() uint32 {
		var bytes [4]byte
		data = data[copy(bytes[:], data):]
		return binary.LittleEndian.Uint32(bytes[:])
	}
	side := 0
	if len(data) > 0 {
		side, data = int(data[0]), data[1:]
	}
	b := newBatch("decoded", queens.FullBoard(1+side%queens.MaxN))
	for row := range b.board.N {
		b.board.Allow[row] &^= word()
	}
	for len(b.prefixes) == 0 || len(data) > 0 && len(b.prefixes) < 16 {
		columns := b.board.Columns()
		p := queens.Prefix{Cols: word() & columns, Left: word() & columns, Right: word() & columns}
		p.Row = bits.OnesCount32(p.Cols)
		for !isShort(&b.board, p) {
			free := p.Free(&b.board)
			p = p.Place(&b.board, free&-free)
		}
		b.addState(p)
	}
	return b
}
