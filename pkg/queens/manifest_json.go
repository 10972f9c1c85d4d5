package queens

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
)

// The form in which a manifest is kept, in ledgers and in the record of runs: JSON,
// so that a person can read it in ten years without this program.
type (
	manifestJSON struct {
		Splitter int         `json:"splitter"`
		N        int         `json:"n"`
		Symmetry Symmetry    `json:"symmetry"`
		Placed   []Square    `json:"placed,omitempty"` // each [row,column]
		Tasks    uint64      `json:"tasks"`
		Hash     string      `json:"hash"`
		Classes  []classJSON `json:"classes"`
	}
	classJSON struct {
		K     int      `json:"k"`
		Allow []uint32 `json:"allow"`
		Depth int      `json:"depth"`
		Batch int      `json:"batch"`
		First uint64   `json:"first"`
	}
)

// MarshalJSON returns the manifest in the form in which it is kept.
func (m Manifest) MarshalJSON() ([]byte, error) {
	kept := manifestJSON{Splitter: m.SplitVersion, N: m.N, Symmetry: m.Symmetry, Placed: m.Placed, Tasks: m.Tasks, Hash: hex.EncodeToString(m.Hash[:])}
	for _, plan := range m.Classes {
		kept.Classes = append(kept.Classes, classJSON{
			K: plan.K, Allow: plan.Board.Allow[:plan.Board.N], Depth: plan.Depth, Batch: plan.Batch, First: plan.First,
		})
	}
	return json.Marshal(kept)
}

// UnmarshalJSON reads a manifest, and refuses one that is not valid.
func (m *Manifest) UnmarshalJSON(data []byte) error {
	var kept manifestJSON
	if err := json.Unmarshal(data, &kept); err != nil {
		return err
	}
	read := Manifest{SplitVersion: kept.Splitter, N: kept.N, Symmetry: kept.Symmetry, Tasks: kept.Tasks}
	if len(kept.Placed) > 0 { // an empty list is none
		read.Placed = kept.Placed
	}
	hash, err := hex.DecodeString(kept.Hash)
	if err != nil || len(hash) != len(read.Hash) {
		return fmt.Errorf("the hash of the manifest, %.80q, is not %d bytes in hexadecimal digits", kept.Hash, len(read.Hash))
	}
	copy(read.Hash[:], hash)
	for i, class := range kept.Classes {
		if len(class.Allow) != kept.N || len(class.Allow) > MaxN {
			return fmt.Errorf("class %d of the manifest allows squares on %d rows of a board of side %d", i, len(class.Allow), kept.N)
		}
		plan := ClassPlan{Class: Class{Board: Board{N: kept.N}, K: class.K}, Depth: class.Depth, Batch: class.Batch, First: class.First}
		copy(plan.Board.Allow[:], class.Allow)
		read.Classes = append(read.Classes, plan)
	}
	if err := read.Validate(); err != nil {
		return err
	}
	*m = read
	return nil
}

// Validate reports the first thing wrong with a manifest that was read from outside.
// Whether its tasks are those that it says is for package split to say.
func (m *Manifest) Validate() error {
	if err := ValidateN(m.N); err != nil {
		return err
	}
	if err := m.validatePlaced(); err != nil {
		return err
	}
	if len(m.Classes) == 0 && m.Tasks > 0 {
		return fmt.Errorf("the manifest has %d tasks and no class", m.Tasks)
	}
	var first uint64
	for i := range m.Classes {
		plan := &m.Classes[i]
		if err := plan.Board.Validate(); err != nil {
			return fmt.Errorf("class %d of the manifest: %w", i, err)
		}
		switch {
		case plan.Board.N != m.N:
			return fmt.Errorf("class %d of the manifest is of side %d, not %d", i, plan.Board.N, m.N)
		case plan.K < 1 || plan.K > images:
			return fmt.Errorf("class %d of the manifest has k = %d, not 1 to %d", i, plan.K, images)
		case plan.Depth < 0 || plan.Depth > m.N:
			return fmt.Errorf("class %d of the manifest has prefixes of %d rows, not 0 to %d", i, plan.Depth, m.N)
		case plan.Batch < 1 || plan.Batch > MaxBatch:
			return fmt.Errorf("class %d of the manifest has %d prefixes a task, not 1 to %d", i, plan.Batch, MaxBatch)
		case plan.First < first || plan.First > m.Tasks || i == 0 && plan.First != 0:
			return fmt.Errorf("class %d of the manifest begins with task %d, after %d and of %d", i, plan.First, first, m.Tasks)
		}
		first = plan.First
	}
	return nil
}

func (m *Manifest) validatePlaced() error {
	if err := CheckPlaced(m.N, m.Placed); err != nil {
		return fmt.Errorf("the placed queens of the manifest: %w", err)
	}
	switch {
	case len(m.Placed) > 0 && m.Symmetry != None:
		return fmt.Errorf("the manifest has placed queens and symmetry %q, not %s", m.Symmetry, None)
	case !slices.IsSortedFunc(m.Placed, compareSquares):
		return fmt.Errorf("the placed queens of the manifest, %v, are not sorted by row", m.Placed)
	}
	return nil
}

// images is the number of images that a solution has under the symmetries of the square.
const images = 8
