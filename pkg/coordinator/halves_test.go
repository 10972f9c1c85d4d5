package coordinator

import (
	"strings"
	"testing"

	"nqueens/pkg/coordinator/core"
	"nqueens/pkg/ledger"
	"nqueens/pkg/queens"
	"nqueens/pkg/split"
	"nqueens/pkg/testkit"
)

// stationOf returns a station for a run with n = 12 by a method, and a chunk of four tasks for
// machine a. Both methods have the same run and secret, so their tickets are alike.
func stationOf(t *testing.T, m queens.Method) (*station, queens.Chunk) {
	t.Helper()
	manifest, index, err := split.New(t.Context(),
		queens.Manifest{Method: m, N: 12, Symmetry: queens.Full}, 0)
	if err != nil {
		t.Fatal(err)
	}
	s := newStation(&ledger.Header{Run: "n12-a", Manifest: manifest, Secret: ledger.Secret{1}}, index)
	given := core.Reply{To: queens.Process{Machine: testkit.Machine("a")},
		Chunks: []queens.Range{{First: 3, Tasks: 4}}}
	return s, s.reply(1, &given).Chunks[0]
}

// resultOf returns the result of a chunk whose tasks are the given ones.
func resultOf(c *queens.Chunk, change func(*queens.Task)) *queens.Result {
	r := &queens.Result{Range: c.Range, Ticket: c.Ticket, Counted: c.Range,
		Counts: make([]uint64, c.Tasks)}
	var hashes []uint64
	for i := range c.Tasks {
		task := c.Task(int(i))
		change(&task)
		hashes = append(hashes, task.Hash())
	}
	r.Hash = queens.HashOfRange(hashes)
	return r
}

// A chunk by the method halves has row sets and no prefixes. A result is refused if other row sets,
// another board, or tasks of the other method were counted.
func TestRowSetsAreChecked(t *testing.T) {
	s, chunk := stationOf(t, queens.Halves)
	_, foreign := stationOf(t, queens.Prefixes)
	if len(chunk.Sets) != 4 || len(chunk.Prefixes) != 0 ||
		chunk.Sets[1].First != chunk.Sets[0].First+chunk.Sets[0].Number {
		t.Fatalf("the chunk %+v", chunk)
	}
	if foreign.Range != chunk.Range || foreign.Ticket != chunk.Ticket {
		t.Fatal("the ticket of the other method refuses its result before the hash does")
	}
	if err := s.check(testkit.Machine("a"), resultOf(&chunk, func(*queens.Task) {})); err != nil {
		t.Errorf("an honest result is refused: %v", err)
	}
	for name, r := range map[string]*queens.Result{
		"of the other method": resultOf(&foreign, func(*queens.Task) {}),
		"with other numbers":  resultOf(&chunk, func(t *queens.Task) { t.Sets.First++ }),
		"with fewer row sets": resultOf(&chunk, func(t *queens.Task) { t.Sets.Number-- }),
		"of another side": resultOf(&chunk, func(t *queens.Task) {
			t.Board = queens.FullBoard(13)
		}),
		"with the ids of others": resultOf(&chunk, func(t *queens.Task) { t.ID++ }),
		"without row sets":       resultOf(&chunk, func(t *queens.Task) { t.Sets = queens.RowSets{} }),
	} {
		if err := s.check(testkit.Machine("a"), r); err == nil ||
			!strings.Contains(err.Error(), "other prefixes or row sets") {
			t.Errorf("a result %s: %v", name, err)
		}
	}
}
