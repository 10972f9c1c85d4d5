package queens

import (
	"math/big"
	"math/bits"
)

// Sum is a sum of fewer than 2^64 numbers of 64 bits. The zero value is 0.
type Sum struct{ high, low uint64 }

// Add adds a number.
func (s *Sum) Add(n uint64) {
	var carry uint64
	s.low, carry = bits.Add64(s.low, n, 0)
	s.high += carry
}

// Subtract subtracts a number that was added before.
func (s *Sum) Subtract(n uint64) {
	var borrow uint64
	s.low, borrow = bits.Sub64(s.low, n, 0)
	s.high -= borrow
}

// Big returns the sum.
func (s *Sum) Big() *big.Int {
	n := new(big.Int).SetUint64(s.high)
	return n.Lsh(n, 64).Add(n, new(big.Int).SetUint64(s.low))
}
