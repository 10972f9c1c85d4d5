package queens_test

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"nqueens/pkg/queens"
)

func setsTask() queens.Task {
	return queens.Task{ID: 7, Board: queens.FullBoard(14),
		Sets: queens.RowSets{First: 563, Number: 21}}
}

// The hash of a task of row sets never changes, and differs for other ids, sides and row sets.
func TestHashOfRowSets(t *testing.T) {
	one := setsTask()
	if got, want := one.Hash(), uint64(0x221099577a5f3e53); got != want {
		t.Errorf("hash %#016x, want %#016x", got, want)
	}
	seen := map[uint64]string{}
	add := func(name string, change func(task *queens.Task)) {
		task := setsTask()
		change(&task)
		hash := new(queens.Hasher).Hash(&task)
		if other, ok := seen[hash]; ok {
			t.Errorf("%s has the hash of %s", name, other)
		}
		seen[hash] = name
	}
	add("the task itself", func(*queens.Task) {})
	for bit := range 64 {
		add(fmt.Sprintf("id with bit %d changed", bit), func(task *queens.Task) { task.ID ^= 1 << bit })
		add(fmt.Sprintf("first with bit %d changed", bit), func(task *queens.Task) {
			task.Sets.First ^= 1 << bit
		})
		add(fmt.Sprintf("number with bit %d changed", bit), func(task *queens.Task) {
			task.Sets.Number ^= 1 << bit
		})
	}
	for n := 1; n <= queens.MaxN; n++ {
		if n != 14 {
			add(fmt.Sprintf("side %d", n), func(task *queens.Task) { task.Board = queens.FullBoard(n) })
		}
	}
	add("without row sets", func(task *queens.Task) { task.Sets = queens.RowSets{} })
}

// A task of row sets has a full board, no prefixes, and 1 to MaxRowSets row sets.
func TestValidateRowSets(t *testing.T) {
	with := func(change func(task *queens.Task)) error {
		task := setsTask()
		change(&task)
		return task.ValidateSearch()
	}
	checkAll(t, []validity{
		{"plain", with(func(*queens.Task) {}), ""},
		{"the most", with(func(task *queens.Task) { task.Sets.Number = queens.MaxRowSets }), ""},
		{"one more", with(func(task *queens.Task) {
			task.Sets.Number = queens.MaxRowSets + 1
		}), "row sets"},
		{"none", with(func(task *queens.Task) { task.Sets.Number = 0 }), "0 row sets"},
		{"a number that wraps", with(func(task *queens.Task) {
			task.Sets.First = math.MaxUint64
		}), "more than any board"},
		{"prefixes too", with(func(task *queens.Task) {
			task.Prefixes = []queens.Prefix{{}}
		}), "and prefixes"},
		{"a square less", with(func(task *queens.Task) { task.Board.Allow[3] = 1 }), "not full"},
		{"no side", with(func(task *queens.Task) { task.Board = queens.Board{} }), "from 1 to 32"},
	})
}

// A line of an export has what its method needs, and gives the task back. Lines with parts of both
// methods, or invalid ones, are refused.
func TestExportedMethods(t *testing.T) {
	for line, task := range map[string]queens.Task{
		`{"task":7,"weight":1,"n":14,"sets":[563,21]}`: setsTask(),
		`{"task":7,"weight":1,"allow":[15,15,15,15],"prefixes":[[1,1,2,0]]}`: {
			ID: 7, Board: queens.FullBoard(4), Prefixes: []queens.Prefix{{Row: 1, Cols: 1, Left: 2}},
		},
	} {
		exported := queens.Exported(&task, 1)
		if text, err := json.Marshal(exported); string(text) != line || err != nil {
			t.Errorf("%s, %v, want %s", text, err, line)
		}
		var read queens.ExportedTask
		if err := json.Unmarshal([]byte(line), &read); err != nil {
			t.Fatal(err)
		}
		if again, err := read.Search(); err != nil || !reflect.DeepEqual(again, task) {
			t.Errorf("%s is read as %+v, %v", line, again, err)
		}
	}
	for name, line := range map[string]string{
		"no side":          `{"sets":[0,1]}`,
		"a side of 33":     `{"n":33,"sets":[0,1]}`,
		"no row sets":      `{"n":8}`,
		"an empty range":   `{"n":8,"sets":[1,0]}`,
		"both methods":     `{"n":8,"sets":[0,1],"prefixes":[[0,0,0,0]]}`,
		"a side and allow": `{"n":1,"sets":[0,1],"allow":[1]}`,
		"allow and sets":   `{"allow":[1],"sets":[0,1]}`,
		"a huge number":    `{"n":8,"sets":[18446744073709551615,2]}`,
	} {
		var read queens.ExportedTask
		if err := json.Unmarshal([]byte(line), &read); err != nil {
			t.Fatal(err)
		}
		if task, err := read.Search(); err == nil {
			t.Errorf("%s: %+v is accepted", name, task)
		}
	}
	for _, text := range []string{`[1]`, `[1,2,3]`, `[-1,2]`, `"x"`, `[1.5,2]`} {
		if err := json.Unmarshal([]byte(text), new(queens.RowSets)); err == nil {
			t.Errorf("%s is read as row sets", text)
		}
	}
}

// A chunk gives back the tasks of which it was made.
func TestChunkOf(t *testing.T) {
	one, two := setsTask(), setsTask()
	two.ID, two.Sets.First = 8, 584
	four := queens.FullBoard(4)
	plain := queens.Task{ID: 3, Board: four, Prefixes: []queens.Prefix{{}}}
	for _, tasks := range [][]queens.Task{{one, two}, {one}, {plain}} {
		c := queens.ChunkOf(queens.Ticket{1}, tasks)
		if c.First != tasks[0].ID || c.Tasks != uint64(len(tasks)) || c.Ticket != (queens.Ticket{1}) {
			t.Errorf("%+v", c)
		}
		for i := range tasks {
			if got := c.Task(i); !reflect.DeepEqual(got, tasks[i]) {
				t.Errorf("task %d is %+v, want %+v", i, got, tasks[i])
			}
		}
	}
	if strings.Contains(fmt.Sprint(queens.Method("x").Validate()), "nil") {
		t.Error("method x is accepted")
	}
}
