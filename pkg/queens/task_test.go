package queens_test

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"nqueens/pkg/queens"
)

// sample returns a task with all fields on which its hash depends.
func sample() queens.Task {
	return queens.Task{
		Run: "n8-20261120-153012-ab12", ID: 7, Board: queens.FullBoard(8),
		Prefixes: []queens.Prefix{
			{Row: 1, Cols: 0x01, Left: 0x02},
			{Row: 2, Cols: 0x42, Left: 0x88, Right: 0x20},
			{Row: 2, Cols: 0x28, Left: 0x60, Right: 0x12},
		},
	}
}

// The hash of a task never changes: ledgers, manifests and workers of other versions use it.
func TestHashIsPinned(t *testing.T) {
	one := sample()
	empty := queens.Task{Board: queens.FullBoard(1), Prefixes: []queens.Prefix{{}}}
	wide := queens.Task{ID: 1<<64 - 1, Board: queens.FullBoard(32)}
	for i := range uint32(1000) {
		wide.Prefixes = append(wide.Prefixes,
			queens.Prefix{Row: 1, Cols: 1 << (i % 32), Left: i, Right: ^i})
	}
	for _, c := range []struct {
		name string
		task queens.Task
		want uint64
	}{
		{"one", one, 0xe819903644114fbc},
		{"empty", empty, 0xa07ff4142f7f27b9},
		{"wide", wide, 0xa84626263281fab3},
	} {
		if got := c.task.Hash(); got != c.want {
			t.Errorf("%s: hash %#016x, want %#016x", c.name, got, c.want)
		}
	}
}

// Different tasks have different hashes. The name of the run does not matter.
func TestHashIsOfWhatIsCounted(t *testing.T) {
	seen := map[uint64]string{}
	add := func(name string, change func(task *queens.Task)) {
		task := sample()
		change(&task)
		hash := task.Hash()
		if other, ok := seen[hash]; ok {
			t.Errorf("%s has the hash of %s", name, other)
		}
		seen[hash] = name
	}
	add("the task itself", func(*queens.Task) {})
	for bit := range 64 {
		add(fmt.Sprintf("id with bit %d changed", bit), func(task *queens.Task) { task.ID ^= 1 << bit })
	}
	for n := 9; n <= queens.MaxN; n++ {
		add(fmt.Sprintf("side %d", n), func(task *queens.Task) { task.Board.N = n })
	}
	for row := range 8 {
		for col := range 8 {
			add(fmt.Sprintf("board without row %d, column %d", row, col), func(task *queens.Task) {
				task.Board.Allow[row] &^= 1 << col
			})
		}
	}
	for i := range sample().Prefixes {
		for bit := range 32 {
			for field, change := range map[string]func(p *queens.Prefix){
				"row":   func(p *queens.Prefix) { p.Row ^= 1 << bit },
				"cols":  func(p *queens.Prefix) { p.Cols ^= 1 << bit },
				"left":  func(p *queens.Prefix) { p.Left ^= 1 << bit },
				"right": func(p *queens.Prefix) { p.Right ^= 1 << bit },
			} {
				add(fmt.Sprintf("prefix %d with bit %d of %s changed", i, bit, field), func(task *queens.Task) {
					change(&task.Prefixes[i])
				})
			}
		}
		add(fmt.Sprintf("without prefix %d", i), func(task *queens.Task) {
			task.Prefixes = slices.Delete(task.Prefixes, i, i+1)
		})
		add(fmt.Sprintf("prefix %d twice", i), func(task *queens.Task) {
			task.Prefixes = slices.Insert(task.Prefixes, i, task.Prefixes[i])
		})
	}
	for _, order := range [][3]int{{0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
		add(fmt.Sprintf("prefixes in order %v", order), func(task *queens.Task) {
			p := task.Prefixes
			task.Prefixes = []queens.Prefix{p[order[0]], p[order[1]], p[order[2]]}
		})
	}
	add("no prefix", func(task *queens.Task) { task.Prefixes = nil })
	add("an empty prefix more", func(task *queens.Task) {
		task.Prefixes = append(task.Prefixes, queens.Prefix{})
	})

	again, want := sample(), sample()
	again.Run = "n9-20270101-000000-0000"
	if again.Hash() != want.Hash() {
		t.Errorf("another run changes the hash from %#x to %#x", want.Hash(), again.Hash())
	}
}

// The hash is SHA-256 over id, board and prefixes, for any number of prefixes.
func TestHashOfManyPrefixes(t *testing.T) {
	for _, n := range []int{1, 8, 31, 32} {
		rng := rand.New(rand.NewPCG(uint64(n), 0))
		task := queens.Task{ID: rng.Uint64(), Board: randomBoard(rng, n, 2)}
		for range 70 {
			if got, want := task.Hash(), hashInOnePiece(&task); got != want {
				t.Errorf("side %d, %d prefixes: hash %#x, want %#x", n, len(task.Prefixes), got, want)
			}
			task.Prefixes = append(task.Prefixes, queens.Prefix{
				Row: rng.IntN(n), Cols: rng.Uint32(), Left: rng.Uint32(), Right: rng.Uint32(),
			})
		}
		for len(task.Prefixes) < queens.MaxBatch {
			task.Prefixes = append(task.Prefixes, task.Prefixes...)
		}
		task.Prefixes = task.Prefixes[:queens.MaxBatch]
		if got, want := task.Hash(), hashInOnePiece(&task); got != want {
			t.Errorf("side %d, the largest batch: hash %#x, want %#x", n, got, want)
		}
	}
}

func hashInOnePiece(task *queens.Task) uint64 {
	bytes := binary.LittleEndian.AppendUint64(nil, task.ID)
	words := append([]uint32{uint32(task.Board.N)}, task.Board.Allow[:task.Board.N]...)
	for _, p := range task.Prefixes {
		words = append(words, uint32(p.Row), p.Cols, p.Left, p.Right)
	}
	for _, word := range words {
		bytes = binary.LittleEndian.AppendUint32(bytes, word)
	}
	sum := sha256.Sum256(bytes)
	return binary.LittleEndian.Uint64(sum[:8])
}

// A line of an exported ledger gives the task again, unless its board or its prefixes are invalid.
func TestExportedTask(t *testing.T) {
	e := queens.ExportedTask{Task: 7, Board: queens.FullBoard(4),
		Prefixes: []queens.Prefix{{}, {Row: 1, Cols: 1, Left: 2}}}
	text, err := json.Marshal(e)
	var read queens.ExportedTask
	if err := errors.Join(err, json.Unmarshal(text, &read)); err != nil ||
		!reflect.DeepEqual(read, e) {
		t.Errorf("%s is read as %+v (error %v)", text, read, err)
	}
	if task, err := read.Search(); err != nil || task.ID != 7 || task.Board != e.Board ||
		len(task.Prefixes) != 2 {
		t.Errorf("%+v is searched as %+v (error %v)", e, task, err)
	}
	for _, prefix := range []string{"[0,0,0]", "[0,0,0,0,0]", "[-1,0,0,0]", "{}"} {
		if err := json.Unmarshal([]byte(prefix), new(queens.Prefix)); err == nil {
			t.Errorf("the prefix %s is accepted", prefix)
		}
	}
	e.Prefixes = nil
	if _, err := e.Search(); err == nil {
		t.Error("no prefix is searched")
	}
	e.Board.N = 33
	if _, err := e.Search(); err == nil {
		t.Error("a board of 33 rows is searched")
	}
}
