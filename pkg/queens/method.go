package queens

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Method is an algorithm: it says how a count is divided into tasks, and how a task is counted.
type Method string

// The methods.
const (
	// Prefixes divides the classes of a symmetry into prefixes, whose completions a depth-first
	// search counts.
	Prefixes Method = "prefixes"
	// Halves divides the solutions by row set, and joins half-boards. A count has one class, the
	// full board, of weight 1: the method itself uses the symmetries. See docs/halves.md.
	Halves Method = "halves"
)

// HalvesPrefix begins the names of kernels of the method halves in results and ledgers.
const HalvesPrefix = "halves:"

// MethodOf returns the method by which a kernel with this name in a result or a ledger counts.
func MethodOf(kernel string) Method {
	if strings.HasPrefix(kernel, HalvesPrefix) {
		return Halves
	}
	return Prefixes
}

// Validate returns an error unless m is one of the methods.
func (m Method) Validate() error {
	if m == Prefixes || m == Halves {
		return nil
	}
	return fmt.Errorf("no method is %.80q: it is %s or %s", string(m), Prefixes, Halves)
}

// RowSets is consecutive row sets of a board, by their numbers: what a task of the method halves
// counts. The zero value is no row set.
type RowSets struct {
	First  uint64 // number of the first one
	Number uint64 // how many
}

// MaxRowSets is the largest number of row sets in a task.
const MaxRowSets = MaxBatch

// Validate returns an error unless there are 1 to [MaxRowSets] row sets, whose numbers are small
// enough for any board. Package halves knows how many row sets a board has.
func (s RowSets) Validate() error {
	const most = 1 << MaxN // a board of the largest side has fewer
	switch {
	case s.Number == 0 || s.Number > MaxRowSets:
		return fmt.Errorf("%d row sets, not 1 to %d", s.Number, MaxRowSets)
	case s.First > most:
		return fmt.Errorf("row sets from number %d on, more than any board has", s.First)
	}
	return nil
}

// MarshalJSON returns the row sets as [first,number].
func (s RowSets) MarshalJSON() ([]byte, error) { return json.Marshal([2]uint64{s.First, s.Number}) }

// UnmarshalJSON decodes [first,number].
func (s *RowSets) UnmarshalJSON(data []byte) error {
	var numbers []uint64
	err := unmarshalTuple(data, &numbers, 2, "row sets are [first,number]")
	if err == nil {
		*s = RowSets{numbers[0], numbers[1]}
	}
	return err
}
