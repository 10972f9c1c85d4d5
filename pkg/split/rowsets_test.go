package split_test

import (
	"encoding/hex"
	"errors"
	"testing"

	"nqueens/pkg/halves"
	"nqueens/pkg/queens"
	"nqueens/pkg/split"
)

func halvesOf(t testing.TB, n int) (queens.Manifest, *split.Index) {
	t.Helper()
	m, index, err := split.New(t.Context(),
		queens.Manifest{Method: queens.Halves, N: n, Symmetry: queens.Full}, 0)
	if err != nil {
		t.Fatal(err)
	}
	return m, index
}

// The tasks of the method halves have each row set once, in order, with consecutive ids.
func TestRowSetsTile(t *testing.T) {
	for n := 1; n <= 21; n++ {
		m, index := halvesOf(t, n)
		next, id := uint64(0), uint64(0)
		for i, task := range index.All() {
			if i != id || task.ID != id || task.Method() != queens.Halves || task.Sets.First != next {
				t.Fatalf("n = %d: task %d is %+v, want row set %d", n, id, task, next)
			}
			if err := task.ValidateSearch(); err != nil {
				t.Fatal(err)
			}
			if again := index.Range(id, 1); len(again) != 1 || again[0].Sets != task.Sets {
				t.Fatalf("n = %d: task %d is %v, alone %v", n, id, task.Sets, again)
			}
			next += task.Sets.Number
			id++
		}
		if next != halves.Sets(n) || id != m.Tasks || index.Tasks() != m.Tasks {
			t.Errorf("n = %d: %d tasks of %d have %d row sets of %d", n, id, m.Tasks, next, halves.Sets(n))
		}
		if work := split.Shares(&m)[0] * float64(m.Tasks); work < 0.999999 || work > 1.000001 {
			t.Errorf("n = %d: the shares add up to %v", n, work)
		}
		if _, err := split.Check(t.Context(), &m, nil); err != nil {
			t.Errorf("n = %d: %v", n, err)
		}
	}
}

// A count has one class of weight 1. Small boards have about 1000 tasks, and large ones tasks of
// about 4 s.
func TestSizesOfRowSets(t *testing.T) {
	for n := 1; n <= queens.MaxN; n++ {
		classes, err := split.Classes(queens.Halves, n, queens.Full)
		if err != nil {
			t.Fatal(err)
		}
		if want := (queens.Class{Weight: 1, Board: queens.FullBoard(n)}); len(classes) != 1 ||
			classes[0] != want {
			t.Errorf("n = %d: classes %+v", n, classes)
		}
	}
	for _, c := range []struct {
		n           int
		least, most uint64
	}{{14, 500, 2000}, {18, 1000, 2000}, {22, 1000, 1e4}, {24, 5e4, 2e5}} {
		if m, _ := halvesOf(t, c.n); m.Tasks < c.least || m.Tasks > c.most {
			t.Errorf("n = %d: %d tasks, want %d to %d", c.n, m.Tasks, c.least, c.most)
		}
	}
}

// These tasks never change: ledgers on disk rely on them.
func TestRowSetTasksArePinned(t *testing.T) {
	for _, c := range []struct {
		n     int
		tasks uint64
		hash  string
	}{
		{1, 1, "edae7addce2cbad7054ed9fc4838c209175811d00210a969bae2ff5080f9c0c7"},
		{8, 19, "8fc256f1b8cf242ae7f64c1cbfd6860634f30bc1e3edfb8f6a58b01347149b6a"},
		{13, 434, "1161f328478a80a6b4d2b063c440df9e5dee8b78e7ae4e8b8777c8615d3018e8"},
		{18, 1057, "df6cc09cb149d1135016c7c796577bcccc4a6fbf8b91432e2ef00cdb2b5643ab"},
		{22, 1729, "967381cce4d0eb38481136cdef7c50976309f49a4dbd25a465da19b243c4e2c7"},
		{24, 67627, "ec7d53a3fea5d1f54535419c1933c377aa3d2c74eb31c4716cd40ef7fb15a0e5"},
	} {
		m, _ := halvesOf(t, c.n)
		if got := hex.EncodeToString(m.Hash[:]); got != c.hash || m.Tasks != c.tasks {
			t.Errorf("n = %d: %d tasks with hash %s, want %d with %s", c.n, m.Tasks, got, c.tasks, c.hash)
		}
	}
}

// The method halves refuses what only prefixes can count.
func TestHalvesRefuses(t *testing.T) {
	whole := queens.Manifest{Method: queens.Halves, N: 8, Symmetry: queens.Full}
	for name, c := range map[string]struct {
		change func(m *queens.Manifest)
		depth  int
	}{
		"mirror":          {func(m *queens.Manifest) { m.Symmetry = queens.Mirror }, 0},
		"none":            {func(m *queens.Manifest) { m.Symmetry = queens.None }, 0},
		"a placed queen":  {func(m *queens.Manifest) { m.Placed = []queens.Square{{}} }, 0},
		"a depth of rows": {func(*queens.Manifest) {}, 2},
	} {
		m := whole
		c.change(&m)
		if _, _, err := split.New(t.Context(), m, c.depth); !errors.Is(err, split.ErrMethod) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, change := range map[string]func(m *queens.Manifest){
		"no method":      func(m *queens.Manifest) { m.Method = "" },
		"another method": func(m *queens.Manifest) { m.Method = "thirds" },
		"side 0":         func(m *queens.Manifest) { m.N = 0 },
		"side 33":        func(m *queens.Manifest) { m.N = 33 },
	} {
		m := whole
		change(&m)
		if _, _, err := split.New(t.Context(), m, 0); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}

// Check refuses a manifest of the method halves with other tasks than this program makes.
func TestCheckRefusesOtherRowSets(t *testing.T) {
	for name, change := range map[string]func(m *queens.Manifest){
		"another hash":     func(m *queens.Manifest) { m.Hash[3]++ },
		"another batch":    func(m *queens.Manifest) { m.Classes[0].Batch++ },
		"another number":   func(m *queens.Manifest) { m.Tasks-- },
		"a weight":         func(m *queens.Manifest) { m.Classes[0].Weight = 2 },
		"a depth":          func(m *queens.Manifest) { m.Classes[0].Depth = 2 },
		"fewer squares":    func(m *queens.Manifest) { m.Classes[0].Board.Allow[1] = 1 },
		"another class":    func(m *queens.Manifest) { m.Classes = append(m.Classes, m.Classes[0]) },
		"a symmetry":       func(m *queens.Manifest) { m.Symmetry = queens.Mirror },
		"the other method": func(m *queens.Manifest) { m.Method = queens.Prefixes },
	} {
		m, _ := halvesOf(t, 12)
		change(&m)
		if _, err := split.Check(t.Context(), &m, nil); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
	m, _, err := split.New(t.Context(),
		queens.Manifest{Method: queens.Prefixes, N: 12, Symmetry: queens.Full}, 0)
	if err != nil {
		t.Fatal(err)
	}
	m.Method = queens.Halves
	if _, err := split.Check(t.Context(), &m, nil); err == nil {
		t.Error("prefixes are accepted as row sets")
	}
}

// A task of the method halves takes about a microsecond, also by its number.
func BenchmarkRowSetTask(b *testing.B) {
	m, index := halvesOf(b, 22)
	id := uint64(0)
	for b.Loop() {
		index.Range(id, 1)
		id = (id + 1) % m.Tasks
	}
}
