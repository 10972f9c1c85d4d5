package queens

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sort"
)

// MaxTasks bounds the tasks of a run. A pass over so many takes minutes.
const MaxTasks = 100_000_000

// Manifest is everything that determines a run's task set. Manifests with the same Hash have
// the same tasks, on any machine.
type Manifest struct {
	// SplitVersion is the version of the rules that split the count.
	SplitVersion int    `json:"splitter"`
	Method       Method `json:"method"`
	N            int    `json:"n"`
	// Symmetry must be Full by the method halves, which uses all symmetries.
	Symmetry Symmetry `json:"symmetry"`
	// Placed are the queens placed beforehand, sorted by row. If there are any, Symmetry must be None.
	Placed []Square `json:"placed,omitempty"`
	// Tasks is the number of tasks; their ids are 0..Tasks-1.
	Tasks uint64 `json:"tasks"`
	// Hash is SHA-256 over the hashes of all tasks (little endian) in order of id.
	Hash    Bytes32     `json:"hash"`
	Classes []ClassPlan `json:"classes"`
}

// ClassPlan is a class and how it is split.
type ClassPlan struct {
	Class
	// Depth is the number of rows in the class's prefixes; 0 by the method halves.
	Depth int `json:"depth"`
	// Batch is the number of prefixes or row sets in a task; the class's last task may have fewer.
	Batch int `json:"batch"`
	// First is the id of the class's first task. A class without prefixes has no tasks,
	// and the same First as the next class.
	First uint64 `json:"first"`
}

// UnmarshalJSON decodes a manifest, and rejects an invalid one.
func (m *Manifest) UnmarshalJSON(data []byte) error {
	type fields Manifest
	var read struct {
		fields
		Hash *Bytes32 `json:"hash"` // hides the Hash of fields; it is nil if the hash is missing
	}
	if err := json.Unmarshal(data, &read); err != nil {
		return err
	}
	if len(read.Placed) == 0 { // an empty list becomes nil
		read.Placed = nil
	}
	if read.Hash == nil {
		return errors.New("the manifest has no hash")
	}
	read.fields.Hash = *read.Hash
	if err := (*Manifest)(&read.fields).Validate(); err != nil {
		return err
	}
	*m = Manifest(read.fields)
	return nil
}

// ClassOf returns the index in Classes of the class to which a task belongs. The id must be
// less than Tasks.
func (m *Manifest) ClassOf(id uint64) int {
	return sort.Search(len(m.Classes), func(i int) bool { return m.Classes[i].First > id }) - 1
}

// TasksOf returns the number of tasks of a class, given by its index in Classes.
func (m *Manifest) TasksOf(class int) uint64 {
	end := m.Tasks
	if class+1 < len(m.Classes) {
		end = m.Classes[class+1].First
	}
	return end - m.Classes[class].First
}

// Validate returns the first thing that is wrong with a manifest. It does not check the tasks:
// package split does.
func (m *Manifest) Validate() error {
	if err := ValidateN(m.N); err != nil {
		return err
	}
	if err := cmp.Or(m.Method.Validate(), m.Symmetry.Validate(), m.validatePlaced(),
		m.validateHalves()); err != nil {
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

// validate returns the first thing that is wrong with a class of m.
func (p *ClassPlan) validate(m *Manifest) error {
	switch {
	case p.Board.N != m.N:
		return fmt.Errorf("its side is %d, not %d", p.Board.N, m.N)
	case p.Weight == 0:
		return fmt.Errorf("it has no weight: the run was split by rules of version %d, which this "+
			"program does not know: "+
			"use the version of nqueens that started the run", m.SplitVersion)
	case m.Method == Prefixes && (p.Depth < 1 || p.Depth > m.N):
		return fmt.Errorf("prefixes of %d rows, not 1 to %d", p.Depth, m.N)
	case m.Method == Prefixes && (p.Batch < 1 || p.Batch > MaxBatch):
		return fmt.Errorf("%d prefixes a task, not 1 to %d", p.Batch, MaxBatch)
	case m.Method == Halves && p.Depth != 0:
		return fmt.Errorf("prefixes of %d rows: the method %s has none", p.Depth, Halves)
	case m.Method == Halves && (p.Batch < 1 || p.Batch > MaxRowSets):
		return fmt.Errorf("%d row sets a task, not 1 to %d", p.Batch, MaxRowSets)
	case m.Method == Halves && p.Class != Class{Weight: 1, Board: FullBoard(m.N)}:
		return fmt.Errorf("by the method %s it must be the full board, of weight 1", Halves)
	case p.First > m.Tasks:
		return fmt.Errorf("it begins with task %d of %d", p.First, m.Tasks)
	}
	return cmp.Or(ValidateWeight(p.Weight), p.Board.Validate())
}

// validateHalves returns an error if a count by the method halves has what only prefixes have.
func (m *Manifest) validateHalves() error {
	switch {
	case m.Method != Halves:
		return nil
	case m.Symmetry != Full:
		return fmt.Errorf("the method %s and symmetry %q, not %s", Halves, m.Symmetry, Full)
	case len(m.Placed) > 0:
		return fmt.Errorf("the method %s and queens placed beforehand", Halves)
	case len(m.Classes) > 1:
		return fmt.Errorf("the method %s and %d classes, not 1", Halves, len(m.Classes))
	}
	return nil
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
