package run_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"nqueens/pkg/queens"
	"nqueens/pkg/run"
)

// samplePlain and sampleCounted are the export of sample's task with weight 2, without and with a
// count.
const (
	samplePlain = `{"run":"n8-20261120-153012-ab12","task":7,"hash":"e819903644114fbc","weight":2,` +
		`"allow":[255,255,255,255,255,255,255,255],"prefixes":[[1,1,2,0],[2,66,136,32],[2,40,96,18]]}`
	sampleCounted = `{"run":"n8-20261120-153012-ab12","task":7,"hash":"e819903644114fbc","weight":2,` +
		`"allow":[255,255,255,255,255,255,255,255],"prefixes":[[1,1,2,0],[2,66,136,32],[2,40,96,18]],` +
		`"count":"18446744073709551615","worker":"w","kernel":"generic","attempt":2,"seconds":1.5}`
)

func sampleResult() *run.Result {
	return &run.Result{Attempt: 2, Count: math.MaxUint64, Worker: "w", Kernel: "generic", Elapsed: 1500 * time.Millisecond}
}

// The format of a line never changes: old exports and other programs use it.
func TestExportedTaskIsPinned(t *testing.T) {
	task := sample()
	for want, exported := range map[string]run.ExportedTask{
		samplePlain:   run.NewExportedTask(&task, 2, nil),
		sampleCounted: run.NewExportedTask(&task, 2, sampleResult()),
	} {
		if got, err := json.Marshal(exported); string(got) != want || err != nil {
			t.Errorf("the line is\n%s (error %v), want\n%s", got, err, want)
		}
	}
}

// An exported task survives encoding and decoding, and Task returns what it was made from: any
// board, prefixes of any depth, counted or not.
func TestExportedTasksSurvive(t *testing.T) {
	for seed := range uint64(200) {
		exported, task := randomExportedTask(rand.New(rand.NewPCG(seed, 0)))
		line, err := json.Marshal(exported)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		var got run.ExportedTask
		if err := json.Unmarshal(line, &got); err != nil || !reflect.DeepEqual(got, exported) {
			t.Fatalf("seed %d: %+v is read as %+v (error %v)", seed, exported, got, err)
		}
		if again, err := got.Task(); err != nil || !reflect.DeepEqual(again, task) {
			t.Fatalf("seed %d: the task to count is %+v (error %v), want %+v", seed, again, err, task)
		}
	}
}

// A task that no export writes is rejected, with an error that says why.
func TestInvalidExportedTasks(t *testing.T) {
	const eightRows = `[255,255,255,255,255,255,255,255]`
	const prefixes = `[[1,1,2,0],[2,66,136,32],[2,40,96,18]]`
	with := func(line, before, after string) error {
		if strings.Count(line, before) != 1 {
			t.Fatalf("%s is not once in %s", before, line)
		}
		var read run.ExportedTask
		err := json.Unmarshal([]byte(strings.Replace(line, before, after, 1)), &read)
		if err == nil {
			_, err = read.Task()
		}
		return err
	}
	checkAll(t, []validity{
		{"plain", with(samplePlain, `"weight":2`, `"weight":2`), ""},
		{"counted", with(sampleCounted, `"weight":2`, `"weight":2`), ""},
		{"a field more", with(sampleCounted, `"weight":2`, `"weight":2,"note":[1]`), ""},
		{"null", with("null", "null", "null"), "run name"},
		{"an array", with("[]", "[]", "[]"), "array"},
		{"cut short", with(samplePlain, `]]}`, `]]`), "unexpected end"},
		{"a run that is a path", with(samplePlain, `"n8-`, `"../n8-`), "run name"},
		{"another task", with(samplePlain, `"task":7`, `"task":8`), "task 8: the hash is"},
		{"a negative task", with(samplePlain, `"task":7`, `"task":-7`), "task"},
		{"another hash", with(samplePlain, `e819903644114fbc`, `e819903644114fbd`), "task 7: the hash is e819903644114fbd"},
		{"a hash of 15 digits", with(samplePlain, `e819903644114fbc`, `e819903644114fb`), "hash"},
		{"a hash of other letters", with(samplePlain, `e819903644114fbc`, `e819903644114fbx`), "hash"},
		{"no weight", with(samplePlain, `"weight":2,`, ``), "weight 0"},
		{"a weight of 3", with(samplePlain, `"weight":2`, `"weight":3`), "weight 3"},
		{"a mask beyond the board", with(samplePlain, eightRows, `[255,255,256,255,255,255,255,255]`), "row 2"},
		{"a mask beyond any board", with(samplePlain, eightRows, `[4294967296]`), "allow"},
		{"no row", with(samplePlain, eightRows, `[]`), "from 1 to 32, not 0"},
		{"33 rows", with(samplePlain, eightRows, `[255`+strings.Repeat(`,255`, 32)+`]`), "from 1 to 32, not 33"},
		{"a row less", with(samplePlain, eightRows, `[255,255,255,255,255,255,255]`), "row 0"},
		{"no prefix", with(samplePlain, prefixes, `[]`), "0 prefixes"},
		{"a prefix of three numbers", with(samplePlain, prefixes, `[[1,1,2]]`), "not 3 numbers"},
		{"a prefix of five numbers", with(samplePlain, prefixes, `[[1,1,2,0],[1,1,2,0,0]]`), "not 5 numbers"},
		{"a prefix of nothing", with(samplePlain, prefixes, `[null]`), "a prefix is"},
		{"a prefix wider than the board", with(samplePlain, prefixes, `[[1,256,2,0]]`), "passes a board of side 8"},
		{"a prefix wider than any board", with(samplePlain, prefixes, `[[1,1,4294967296,0]]`), "prefixes"},
		{"more rows than the board", with(samplePlain, prefixes, `[[9,511,0,0]]`), "9 rows"},
		{"a prefix of no queens", with(samplePlain, prefixes, `[[2,1,0,0]]`), "1 columns"},
		{"a count that is a number", with(sampleCounted, `"18446744073709551615"`, `5`), "uint64"},
		{"a count of 2^64", with(sampleCounted, `551615"`, `551616"`), "uint64"},
		{"a negative count", with(sampleCounted, `"18446744073709551615"`, `"-1"`), "uint64"},
		{"an empty count", with(sampleCounted, `"18446744073709551615"`, `""`), "uint64"},
		{"seconds beyond any number", with(sampleCounted, `1.5`, `1e999`), "seconds"},
	})
}

// No input makes the decoder panic. What it accepts is valid, has a valid task, and survives
// encoding and decoding.
func FuzzExportedTask(f *testing.F) {
	f.Add([]byte(samplePlain))
	f.Add([]byte(sampleCounted))
	for seed := range uint64(10) {
		exported, _ := randomExportedTask(rand.New(rand.NewPCG(seed, 1)))
		line, err := json.Marshal(exported)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		checkExportedTask(t, line)
		if mended, ok := correctHash(line); ok {
			checkExportedTask(t, mended)
		}
	})
}

func checkExportedTask(t *testing.T, line []byte) {
	var read run.ExportedTask
	if json.Unmarshal(line, &read) != nil {
		return
	}
	task, err := read.Task()
	if err != nil {
		return
	}
	if task.Validate() != nil {
		t.Fatalf("what is read is not valid: %+v", read)
	}
	written, err := json.Marshal(read)
	if err != nil {
		t.Fatal(err)
	}
	var again run.ExportedTask
	if err := json.Unmarshal(written, &again); err != nil || !reflect.DeepEqual(again, read) {
		t.Fatalf("%+v written is read as %+v (error %v)", read, again, err)
	}
}

// correctHash replaces the hash of a line by the right one, which random bytes never have.
func correctHash(line []byte) (mended []byte, ok bool) {
	var fields map[string]json.RawMessage
	var parts struct {
		Task     uint64
		Allow    []uint32
		Prefixes [][]uint32
	}
	if json.Unmarshal(line, &fields) != nil || json.Unmarshal(line, &parts) != nil || len(parts.Allow) > queens.MaxN {
		return nil, false
	}
	task := queens.Task{ID: parts.Task, Board: queens.Board{N: len(parts.Allow)}}
	copy(task.Board.Allow[:], parts.Allow)
	for _, p := range parts.Prefixes {
		if len(p) != 4 {
			return nil, false
		}
		task.Prefixes = append(task.Prefixes, queens.Prefix{Row: int(p[0]), Cols: p[1], Left: p[2], Right: p[3]})
	}
	fields["hash"] = fmt.Appendf(nil, `"%016x"`, task.Hash())
	mended, err := json.Marshal(fields)
	return mended, err == nil
}

// randomExportedTask returns an exported task, half of them counted, and its task.
func randomExportedTask(rng *rand.Rand) (run.ExportedTask, queens.Task) {
	n := 1 + rng.IntN(queens.MaxN)
	task := queens.Task{Run: "r", ID: rng.Uint64(), Board: randomBoard(rng, n, rng.IntN(4))}
	for range 1 + rng.IntN(20) {
		var p queens.Prefix
		for _, col := range rng.Perm(n)[:rng.IntN(n+1)] {
			p = p.Place(&task.Board, 1<<col)
		}
		task.Prefixes = append(task.Prefixes, p)
	}
	var result *run.Result
	if rng.IntN(2) == 0 {
		result = &run.Result{
			Count: rng.Uint64(), Worker: "w", Kernel: "generic", Attempt: max(rng.Uint32(), 1), Elapsed: time.Duration(rng.Int64()),
		}
	}
	return run.NewExportedTask(&task, 1<<rng.IntN(4), result), task
}

// randomBoard returns a board that allows about a quarter, half, or three quarters of its
// squares, or all of them.
func randomBoard(rng *rand.Rand, n, density int) queens.Board {
	b := queens.FullBoard(n)
	for row := range n {
		x, y := rng.Uint32(), rng.Uint32()
		b.Allow[row] &= [4]uint32{x & y, x, x | y, 0xffffffff}[density]
	}
	return b
}
