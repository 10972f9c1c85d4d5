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

// Sums holds the number of solutions that were found on the classes of each weight. The zero value
// holds none.
type Sums [MaxWeight + 1]Sum

// Add adds the count of solutions that were found on a class of the given weight, 1 to 8.
func (s *Sums) Add(weight int, count uint64) { s[weight].Add(count) }

// Total adds up, for all weights, the weight times its number of solutions. When the count is
// complete, that is the number of solutions of the whole board.
func (s *Sums) Total() *big.Int {
	total := new(big.Int)
	for weight := range s {
		solutions := s[weight].Big()
		total.Add(total, solutions.Mul(solutions, big.NewInt(int64(weight))))
	}
	return total
}
