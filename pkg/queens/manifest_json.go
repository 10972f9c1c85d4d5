package queens

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
)

// A manifest as ledgers and run records store it: JSON, so that a person can read it in
// ten years without this program.
type (
	manifestJSON struct {
		Splitter int         `json:"splitter"`
		N        int         `json:"n"`
		Symmetry Symmetry    `json:"symmetry"`
		Placed   []Square    `json:"placed,omitempty"` // Each is [row,column].
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

// MarshalJSON returns the manifest as it is stored.
func (m Manifest) MarshalJSON() ([]byte, error) {
	stored := manifestJSON{
		Splitter: m.SplitVersion, N: m.N, Symmetry: m.Symmetry, Placed: m.Placed, Tasks: m.Tasks, Hash: hex.EncodeToString(m.Hash[:]),
	}
	for _, plan := range m.Classes {
		stored.Classes = append(stored.Classes, classJSON{
			K: plan.K, Allow: plan.Board.Allow[:plan.Board.N], Depth: plan.Depth, Batch: plan.Batch, First: plan.First,
		})
	}
	return json.Marshal(stored)
}

// UnmarshalJSON decodes a manifest, and rejects an invalid one.
func (m *Manifest) UnmarshalJSON(data []byte) error {
	var stored manifestJSON
	if err := json.Unmarshal(data, &stored); err != nil {
		return err
	}
	read := Manifest{SplitVersion: stored.Splitter, N: stored.N, Symmetry: stored.Symmetry, Tasks: stored.Tasks}
	if len(stored.Placed) > 0 { // an empty list becomes nil
		read.Placed = stored.Placed
	}
	hash, err := hex.DecodeString(stored.Hash)
	if err != nil || len(hash) != len(read.Hash) {
		return fmt.Errorf("the hash of the manifest, %.80q, is not %d bytes in hexadecimal", stored.Hash, len(read.Hash))
	}
	copy(read.Hash[:], hash)
	for i, class := range stored.Classes {
		if len(class.Allow) != stored.N || len(class.Allow) > MaxN {
			return fmt.Errorf("class %d of the manifest allows squares on %d rows of a board of side %d", i, len(class.Allow), stored.N)
		}
		plan := ClassPlan{Class: Class{Board: Board{N: stored.N}, K: class.K}, Depth: class.Depth, Batch: class.Batch, First: class.First}
		copy(plan.Board.Allow[:], class.Allow)
		read.Classes = append(read.Classes, plan)
	}
	if err := read.Validate(); err != nil {
		return err
	}
	*m = read
	return nil
}

// Validate returns the first thing wrong with a manifest from outside. It does not check
// the tasks: package split does.
func (m *Manifest) Validate() error {
	if err := ValidateN(m.N); err != nil {
		return err
	}
	if err := m.validatePlaced(); err != nil {
		return fmt.Errorf("the manifest: %w", err)
	}
	if len(m.Classes) == 0 && m.Tasks > 0 {
		return fmt.Errorf("the manifest has %d tasks and no class", m.Tasks)
	}
	first := uint64(0)
	for i := range m.Classes {
		plan := &m.Classes[i]
		err := plan.validate(m)
		if err == nil && (plan.First < first || i == 0 && plan.First != 0) {
			err = fmt.Errorf("it begins with task %d, not after task %d", plan.First, first)
		}
		if err != nil {
			return fmt.Errorf("class %d of the manifest: %w", i, err)
		}
		first = plan.First
	}
	return nil
}

// validate returns the first thing wrong with a class of m.
func (p *ClassPlan) validate(m *Manifest) error {
	switch {
	case p.Board.N != m.N:
		return fmt.Errorf("its side is %d, not %d", p.Board.N, m.N)
	case p.K < 1 || p.K > images:
		return fmt.Errorf("k = %d, not 1 to %d", p.K, images)
	case p.Depth < 0 || p.Depth > m.N:
		return fmt.Errorf("prefixes of %d rows, not 0 to %d", p.Depth, m.N)
	case p.Batch < 1 || p.Batch > MaxBatch:
		return fmt.Errorf("%d prefixes a task, not 1 to %d", p.Batch, MaxBatch)
	case p.First > m.Tasks:
		return fmt.Errorf("it begins with task %d of %d", p.First, m.Tasks)
	}
	return p.Board.Validate()
}

func (m *Manifest) validatePlaced() error {
	err := ValidatePlaced(m.N, m.Placed)
	switch {
	case err != nil:
		return err
	case len(m.Placed) > 0 && m.Symmetry != None:
		return fmt.Errorf("queens placed beforehand and symmetry %q, not %s", m.Symmetry, None)
	case !slices.IsSortedFunc(m.Placed, compareSquares):
		return fmt.Errorf("the queens placed beforehand, %v, are not sorted by row", m.Placed)
	}
	return nil
}

// images is the number of images of a solution under the symmetries of the square.
const images = 8
