package bus

import (
	"bytes"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	nqueensv1 "nqueens/proto/nqueens/v1"

	"nqueens/pkg/queens"
	"nqueens/pkg/run"
	"nqueens/pkg/testkit"
)

// Any bytes may arrive. No decoder panics; what it returns is valid, of the subject's run,
// and the same after another round trip.

func FuzzDecodeTask(f *testing.F) {
	rng := testkit.Rand(f)
	for range 20 {
		task := randomTask(rng)
		f.Add(taskSubject(task.Run), must(encodeTask(&task)))
	}
	m := taskMessage()
	m.Protocol++
	f.Add("nq.task.n8-a", must(proto.Marshal(m)))
	f.Add("nq.result.n8-a", must(proto.Marshal(resultMessage())))
	f.Add("", []byte{})
	f.Add("nq.task.>", []byte("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"))
	f.Fuzz(func(t *testing.T, subject string, data []byte) {
		checkTask(t, subject, data)
		if subject, data, ok := repaired(data); ok {
			checkTask(t, subject, data)
		}
	})
}

func checkTask(t *testing.T, subject string, data []byte) {
	task, err := decodeTask(subject, data)
	if err != nil {
		return
	}
	if err := task.Validate(); err != nil {
		t.Fatalf("what is read is not valid: %v", err)
	}
	if taskSubject(task.Run) != subject {
		t.Fatalf("a task of run %q is read on %q", task.Run, subject)
	}
	again, err := decodeTask(subject, must(encodeTask(&task)))
	if err != nil || !reflect.DeepEqual(again, task) {
		t.Fatalf("%+v sent again arrives as %+v (error %v)", task, again, err)
	}
}

// repaired gives a task message its right subject, version and hash, as an attacker would:
// random bytes would never pass the check of the hash.
func repaired(data []byte) (subject string, _ []byte, ok bool) {
	var m nqueensv1.Task
	if proto.Unmarshal(data, &m) != nil || m.GetN() > queens.MaxN || len(m.GetAllow()) != int(m.GetN()) {
		return "", nil, false
	}
	task := queens.Task{ID: m.GetId(), Board: queens.Board{N: int(m.GetN())}}
	copy(task.Board.Allow[:], m.GetAllow())
	for _, p := range m.GetPrefixes() {
		task.Prefixes = append(task.Prefixes, queens.Prefix{Row: int(p.GetRow()), Cols: p.GetCols(), Left: p.GetLeft(), Right: p.GetRight()})
	}
	m.Protocol, m.Hash = Protocol, task.Hash()
	data, err := proto.Marshal(&m)
	return taskSubject(m.GetRun()), data, err == nil
}

func FuzzDecodeResult(f *testing.F) {
	rng := testkit.Rand(f)
	for range 20 {
		r := randomResult(rng)
		f.Add(resultSubject(r.Run), must(encodeResult(&r)))
	}
	m := resultMessage()
	m.Protocol++
	f.Add("nq.result.n8-a", must(proto.Marshal(m)))
	f.Add("nq.task.n8-a", must(proto.Marshal(taskMessage())))
	f.Add("", []byte{})
	f.Fuzz(func(t *testing.T, subject string, data []byte) {
		r, err := decodeResult(subject, data)
		if err != nil {
			return
		}
		if err := r.Validate(); err != nil {
			t.Fatalf("what is read is not valid: %v", err)
		}
		if resultSubject(r.Run) != subject {
			t.Fatalf("a result of run %q is read on %q", r.Run, subject)
		}
		again, err := decodeResult(subject, must(encodeResult(&r)))
		if err != nil || again != r {
			t.Fatalf("%+v sent again arrives as %+v (error %v)", r, again, err)
		}
	})
}

func FuzzDecodeHeartbeat(f *testing.F) {
	rng := testkit.Rand(f)
	for range 20 {
		h := randomHeartbeat(rng)
		f.Add(must(encodeHeartbeat(&h)))
	}
	m := heartbeatMessage()
	m.Protocol++
	f.Add(must(proto.Marshal(m)))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		h, err := decodeHeartbeat("", data)
		if err != nil {
			return
		}
		if err := h.Validate(); err != nil {
			t.Fatalf("what is read is not valid: %v", err)
		}
		again, err := decodeHeartbeat("", must(encodeHeartbeat(&h)))
		if err != nil || !reflect.DeepEqual(again, h) {
			t.Fatalf("%+v sent again arrives as %+v (error %v)", h, again, err)
		}
	})
}

func FuzzDecodeRecord(f *testing.F) {
	board := queens.FullBoard(2)
	seed := storedRecord{Claim: "x", Record: run.Record{Run: "n8-a", State: run.Running, Epoch: 1, Manifest: queens.Manifest{
		N: 2, Tasks: 1, Classes: []queens.ClassPlan{{Class: queens.Class{Board: board, K: 8}, Depth: 1, Batch: 2}},
	}}}
	data := must(encodeRecord(seed))
	f.Add("n8-a", data)
	f.Add("n8-b", data)
	f.Add("n8-a", bytes.Replace(data, []byte(`"protocol":1`), []byte(`"protocol":2`), 1))
	f.Add("n8-a", bytes.Replace(data, []byte("running"), []byte("flying"), 1))
	f.Add("n8-a", bytes.Replace(data, []byte(`"epoch":1`), []byte(`"epoch":0`), 1))
	f.Add("", []byte("{}"))
	f.Fuzz(func(t *testing.T, run string, data []byte) {
		stored, err := decodeRecord(run, data)
		if err != nil {
			return
		}
		if err := stored.Manifest.Validate(); err != nil || stored.Run != run || stored.Epoch == 0 {
			t.Fatalf("what is read is not valid: %+v (error %v)", stored, err)
		}
		again, err := decodeRecord(run, must(encodeRecord(*stored)))
		if err != nil || again.Run != stored.Run || again.State != stored.State || again.Epoch != stored.Epoch || again.Claim != stored.Claim ||
			!reflect.DeepEqual(again.Manifest, stored.Manifest) {
			t.Fatalf("%+v stored again is %+v (error %v)", stored, again, err)
		}
	})
}

// Random valid values, as seeds and for tests of round trips.

func randomTask(rng *rand.Rand) queens.Task {
	t := queens.Task{
		Run:      randomRun(rng),
		ID:       rng.Uint64() >> rng.IntN(64),
		Attempt:  1 + rng.Uint32N(5),
		Board:    queens.Board{N: 1 + rng.IntN(queens.MaxN)},
		Prefixes: make([]queens.Prefix, 1+rng.IntN(40)),
	}
	for row := range t.Board.N {
		t.Board.Allow[row] = rng.Uint32() & t.Board.Columns()
	}
	for range rng.IntN(3) {
		t.ExcludedWorkers = append(t.ExcludedWorkers, randomName(rng, 1))
	}
	for i := range t.Prefixes {
		p := queens.Prefix{
			Row:   rng.IntN(t.Board.N + 1),
			Left:  rng.Uint32() & t.Board.Columns(),
			Right: rng.Uint32() & t.Board.Columns(),
		}
		for _, column := range rng.Perm(t.Board.N)[:p.Row] {
			p.Cols |= 1 << column
		}
		t.Prefixes[i] = p
	}
	return t
}

func randomRun(rng *rand.Rand) string {
	return run.NewName(1+rng.IntN(queens.MaxN), time.Unix(rng.Int64N(1<<32), 0))
}

func randomResult(rng *rand.Rand) queens.Result {
	return queens.Result{
		Run:     randomRun(rng),
		Task:    rng.Uint64() >> rng.IntN(64),
		Hash:    rng.Uint64(),
		Attempt: 1 + rng.Uint32N(5),
		Count:   rng.Uint64() >> rng.IntN(64),
		Worker:  randomName(rng, 1),
		Kernel:  randomName(rng, 1),
		Elapsed: time.Duration(rng.Int64() >> rng.IntN(63)),
	}
}

func randomHeartbeat(rng *rand.Rand) run.Heartbeat {
	h := run.Heartbeat{
		Worker:  randomName(rng, 1),
		Version: randomName(rng, 0),
		Kernel:  randomName(rng, 0),
		Threads: 1 + rng.IntN(1<<16),
		Leaving: rng.IntN(2) == 1,
	}
	for range rng.IntN(4) {
		h.Held = append(h.Held, run.ActiveTask{
			Run: randomRun(rng), Task: rng.Uint64() >> rng.IntN(64), Elapsed: time.Duration(rng.Int64() >> rng.IntN(63)),
		})
	}
	return h
}

// randomName returns atLeast to 40 letters of one to three bytes.
func randomName(rng *rand.Rand, atLeast int) string {
	name := make([]rune, atLeast+rng.IntN(40))
	for i := range name {
		name[i] = []rune("aZ0-_. *>\"é女")[rng.IntN(12)]
	}
	return string(name)
}
