package run_test

import (
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"nqueens/pkg/queens"
	"nqueens/pkg/run"
)

// sampleChunk returns a chunk of three tasks with different prefixes.
func sampleChunk() run.Chunk {
	task := sample()
	return run.Chunk{
		Run: task.Run, ID: 0xc0ffee, Board: task.Board, First: task.ID,
		Tasks: [][]queens.Prefix{task.Prefixes, task.Prefixes[1:], task.Prefixes[:1]},
	}
}

// A task of a chunk has the chunk's run and board, its own prefixes, and the id that follows
// that of the task before. So it has the hash that it has outside the chunk.
func TestChunkTask(t *testing.T) {
	chunk := sampleChunk()
	chunk.Suspect = true // says nothing of what is counted
	for i, prefixes := range chunk.Tasks {
		want := queens.Task{Run: chunk.Run, ID: 7 + uint64(i), Board: chunk.Board, Prefixes: prefixes}
		got := chunk.Task(i)
		if !reflect.DeepEqual(got, want) {
			t.Errorf("task %d of the chunk is %+v, want %+v", i, got, want)
		}
		if err := got.Validate(); err != nil {
			t.Errorf("task %d of a valid chunk: %v", i, err)
		}
	}
	first, want := chunk.Task(0), sample()
	if first.Hash() != want.Hash() {
		t.Errorf("the first task has the hash %#x, want %#x", first.Hash(), want.Hash())
	}
}

// A chunk is valid if its run, board and all its tasks are, and it has an id and 1 to MaxChunk
// tasks. The id after that of its last task does not overflow.
func TestChunkValidate(t *testing.T) {
	chunk := func(change func(c *run.Chunk)) error {
		c := sampleChunk()
		change(&c)
		return c.Validate()
	}
	tasks := func(tasks ...[]queens.Prefix) func(c *run.Chunk) {
		return func(c *run.Chunk) { c.Tasks = tasks }
	}
	one := []queens.Prefix{{}}
	many := func(n int) [][]queens.Prefix { return slices.Repeat([][]queens.Prefix{one}, n) }
	checkAll(t, []validity{
		{"plain", chunk(func(*run.Chunk) {}), ""},
		{"suspect", chunk(func(c *run.Chunk) { c.Suspect = true }), ""},
		{"one task", chunk(tasks(one)), ""},
		{"most tasks", chunk(tasks(many(run.MaxChunk)...)), ""},
		{"the greatest id", chunk(func(c *run.Chunk) { c.ID = math.MaxUint64 }), ""},
		{"the first task of the run", chunk(func(c *run.Chunk) { c.First = 0 }), ""},
		{"the greatest task", chunk(func(c *run.Chunk) { c.First = math.MaxUint64 - 3 }), ""},
		{"a task beyond the greatest", chunk(func(c *run.Chunk) { c.First = math.MaxUint64 - 2 }), "overflow"},
		{"the greatest first task", chunk(func(c *run.Chunk) { c.First = math.MaxUint64 }), "overflow"},
		{"the largest batch", chunk(tasks(one, make([]queens.Prefix, queens.MaxBatch))), ""},
		{"no run", chunk(func(c *run.Chunk) { c.Run = "" }), "run name"},
		{"a run that is a subject", chunk(func(c *run.Chunk) { c.Run = "nq.task.>" }), "run name"},
		{"no id", chunk(func(c *run.Chunk) { c.ID = 0 }), "no id"},
		{"no tasks", chunk(tasks()), "0 tasks"},
		{"too many tasks", chunk(tasks(many(run.MaxChunk + 1)...)), "4097 tasks"},
		{"no board", chunk(func(c *run.Chunk) { c.Board = queens.Board{} }), "from 1 to 32"},
		{"squares beyond", chunk(func(c *run.Chunk) { c.Board.Allow[3] = 1 << 8 }), "row 3"},
		{"a first task of no prefix", chunk(tasks(nil, one)), "task 7 has 0 prefixes"},
		{"a last task of no prefix", chunk(tasks(one, one, nil)), "task 9 has 0 prefixes"},
		{"a task of too many prefixes", chunk(tasks(one, make([]queens.Prefix, queens.MaxBatch+1))), "task 8 has 16385 prefixes"},
		{"a last prefix too long", chunk(tasks(one, []queens.Prefix{{}, {Row: 9, Cols: 0x1ff}})), "9 rows"},
		{"a prefix of another board", chunk(tasks(one, []queens.Prefix{{Row: 1, Cols: 1 << 8}})), "passes"},
	})
}

// sampleChunkResult returns a result of sampleChunk's first two tasks.
func sampleChunkResult() run.ChunkResult {
	return run.ChunkResult{
		Run: "n8-20261120-153012-ab12", Chunk: 0xc0ffee, First: 7, Worker: "w",
		Counts: []run.TaskCount{
			{Hash: 1, Count: 4, Kernel: "generic", Elapsed: time.Second},
			{Hash: 2, Count: 0, Kernel: "avx2", Elapsed: 0},
		},
	}
}

// The result of a task has the run and worker of the chunk's result, the id that follows that of
// the task before, and its own hash, count, kernel and time.
func TestChunkResultResult(t *testing.T) {
	r := sampleChunkResult()
	for i, want := range []run.Result{
		{Run: r.Run, Task: 7, Hash: 1, Attempt: 3, Count: 4, Worker: "w", Kernel: "generic", Elapsed: time.Second},
		{Run: r.Run, Task: 8, Hash: 2, Attempt: 3, Count: 0, Worker: "w", Kernel: "avx2"},
	} {
		got := r.Result(i, 3)
		if got != want {
			t.Errorf("result %d is %+v, want %+v", i, got, want)
		}
		if err := got.Validate(); err != nil {
			t.Errorf("result %d of a valid chunk: %v", i, err)
		}
	}
}

// A result of a chunk is valid if it names its run, chunk and worker, and has 1 to MaxChunk
// counts, each with a kernel and a time that is not negative. The id after that of its last task
// does not overflow. Any count may be right.
func TestChunkResultValidate(t *testing.T) {
	result := func(change func(r *run.ChunkResult)) error {
		r := sampleChunkResult()
		change(&r)
		return r.Validate()
	}
	last := func(change func(c *run.TaskCount)) error {
		return result(func(r *run.ChunkResult) { change(&r.Counts[1]) })
	}
	counts := func(n int) error {
		return result(func(r *run.ChunkResult) { r.Counts = slices.Repeat(r.Counts[:1], n) })
	}
	longest := strings.Repeat("w", 128)
	checkAll(t, []validity{
		{"plain", result(func(*run.ChunkResult) {}), ""},
		{"one count", counts(1), ""},
		{"most counts", counts(run.MaxChunk), ""},
		{"greatest numbers", last(func(c *run.TaskCount) {
			*c = run.TaskCount{Hash: math.MaxUint64, Count: math.MaxUint64, Kernel: longest, Elapsed: math.MaxInt64}
		}), ""},
		{"the longest worker", result(func(r *run.ChunkResult) { r.Worker = longest }), ""},
		{"the greatest task", result(func(r *run.ChunkResult) { r.First = math.MaxUint64 - 2 }), ""},
		{"a task beyond the greatest", result(func(r *run.ChunkResult) { r.First = math.MaxUint64 - 1 }), "overflow"},
		{"the greatest first task", result(func(r *run.ChunkResult) { r.First = math.MaxUint64 }), "overflow"},
		{"no run", result(func(r *run.ChunkResult) { r.Run = "" }), "run name"},
		{"a run of other letters", result(func(r *run.ChunkResult) { r.Run = "N8" }), "run name"},
		{"no chunk", result(func(r *run.ChunkResult) { r.Chunk = 0 }), "no chunk"},
		{"no counts", counts(0), "0 counts"},
		{"too many counts", counts(run.MaxChunk + 1), "4097 counts"},
		{"no worker", result(func(r *run.ChunkResult) { r.Worker = "" }), "does not name its worker"},
		{"a long worker", result(func(r *run.ChunkResult) { r.Worker = longest + "w" }), "worker name of 129 bytes"},
		{"a control worker", result(func(r *run.ChunkResult) { r.Worker = controlName }), quotedControlName},
		{"no kernel", last(func(c *run.TaskCount) { c.Kernel = "" }), "result of task 8 does not name its"},
		{"a long kernel", last(func(c *run.TaskCount) { c.Kernel = longest + "w" }), "kernel name of 129 bytes"},
		{"a control kernel", last(func(c *run.TaskCount) { c.Kernel = controlName }), quotedControlName},
		{"negative time", last(func(c *run.TaskCount) { c.Elapsed = -1 }), "result of task 8 took a negative time"},
	})
}
