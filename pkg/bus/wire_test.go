package bus

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	nqueensv1 "nqueens/proto/nqueens/v1"

	"nqueens/pkg/run"
	"nqueens/pkg/testkit"
)

func TestTasksRoundTrip(t *testing.T) {
	rng := testkit.Rand(t)
	for range 500 {
		want := randomTask(rng)
		data := must(encodeTask(&want))
		got, err := decodeTask(taskSubject(want.Run), data)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%+v arrives as %+v (error %v)", want, got, err)
		}
	}
}

func TestResultsRoundTrip(t *testing.T) {
	rng := testkit.Rand(t)
	for range 500 {
		want := randomResult(rng)
		data := must(encodeResult(&want))
		got, err := decodeResult(resultSubject(want.Run), data)
		if err != nil || got != want {
			t.Fatalf("%+v arrives as %+v (error %v)", want, got, err)
		}
	}
}

func TestHeartbeatsRoundTrip(t *testing.T) {
	rng := testkit.Rand(t)
	for range 500 {
		want := randomHeartbeat(rng)
		data := must(encodeHeartbeat(&want))
		got, err := decodeHeartbeat("", data)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%+v arrives as %+v (error %v)", want, got, err)
		}
	}
}

// Worker names that are invalid UTF-8 or contain control characters are sanitized, so that
// the result is not lost.
func TestWorkerNamesAreSanitized(t *testing.T) {
	r, h := randomResult(testkit.Rand(t)), run.Heartbeat{Worker: "rack\xff7\x1b[2J", Threads: 1}
	r.Worker = h.Worker
	got, err := decodeResult(resultSubject(r.Run), must(encodeResult(&r)))
	if err != nil || got.Worker != "rack?7?[2J" {
		t.Errorf("the result's worker is %q (error %v)", got.Worker, err)
	}
	beat, err := decodeHeartbeat("", must(encodeHeartbeat(&h)))
	if err != nil || beat.Worker != "rack?7?[2J" {
		t.Errorf("the heartbeat's worker is %q (error %v)", beat.Worker, err)
	}
}

func TestMessagesOnAnotherSubjectAreRejected(t *testing.T) {
	task, result := randomTask(testkit.Rand(t)), randomResult(testkit.Rand(t))
	task.Run, result.Run = "n8-a", "n8-a"
	taskData, resultData := must(encodeTask(&task)), must(encodeResult(&result))
	for _, subject := range []string{
		"", "n8-a", "nq.task.", "nq.result.", "nq.task.n8", "nq.result.n8-a-b",
		"nq.task.*", "nq.result.>", "nq.task.n8-a.x", "nq.hb.n8-a", "nq.task.N8-A",
	} {
		if _, err := decodeTask(subject, taskData); err == nil {
			t.Errorf("a task of run n8-a is read on subject %q", subject)
		}
		if _, err := decodeResult(subject, resultData); err == nil {
			t.Errorf("a result of run n8-a is read on subject %q", subject)
		}
	}
	if _, err := decodeTask(resultSubject("n8-a"), taskData); err == nil {
		t.Error("a task is read on its run's subject of results")
	}
	if _, err := decodeResult(taskSubject("n8-a"), resultData); err == nil {
		t.Error("a result is read on its run's subject of tasks")
	}
}

// A task is rejected if any part of it differs from what was hashed.
func TestTasksWithAWrongHashAreRejected(t *testing.T) {
	for name, change := range map[string]func(*nqueensv1.Task){
		"hash":            func(m *nqueensv1.Task) { m.Hash++ },
		"no hash":         func(m *nqueensv1.Task) { m.Hash = 0 },
		"id":              func(m *nqueensv1.Task) { m.Id++ },
		"side":            func(m *nqueensv1.Task) { m.N++; m.Allow = append(m.Allow, 0) },
		"allowed squares": func(m *nqueensv1.Task) { m.Allow[7] ^= 1 },
		"diagonal":        func(m *nqueensv1.Task) { m.Prefixes[1].Left ^= 1 },
		"other diagonal":  func(m *nqueensv1.Task) { m.Prefixes[1].Right ^= 1 },
		"column":          func(m *nqueensv1.Task) { m.Prefixes[0].Cols = 8 },
		"order":           func(m *nqueensv1.Task) { m.Prefixes[0], m.Prefixes[1] = m.Prefixes[1], m.Prefixes[0] },
		"a prefix less":   func(m *nqueensv1.Task) { m.Prefixes = m.Prefixes[1:] },
		"a prefix twice":  func(m *nqueensv1.Task) { m.Prefixes = append(m.Prefixes, m.Prefixes[1]) },
		"an empty prefix": func(m *nqueensv1.Task) { m.Prefixes = append(m.Prefixes, &nqueensv1.Prefix{}) },
	} {
		m := taskMessage()
		change(m)
		_, err := decodeTask(taskSubject(m.Run), must(proto.Marshal(m)))
		if err == nil || !strings.Contains(err.Error(), "says hash") {
			t.Errorf("a task with another %s than was hashed: error %v", name, err)
		}
	}
}

// In another version any field may have another meaning: the version is checked first, and
// the error names both versions.
func TestOtherProtocolVersionsAreRejected(t *testing.T) {
	for _, version := range []uint32{Protocol + 1, 1 << 31} {
		task, result, beat := hollowTask(), resultMessage(), heartbeatMessage()
		task.Protocol, result.Protocol, beat.Protocol = version, version, version
		result.Run, beat.Threads = "?", 0
		_, taskErr := decodeTask("nq.task.x", must(proto.Marshal(task)))
		_, resultErr := decodeResult("nq.result.x", must(proto.Marshal(result)))
		_, beatErr := decodeHeartbeat("", must(proto.Marshal(beat)))
		for kind, err := range map[string]error{"task": taskErr, "result": resultErr, "heartbeat": beatErr} {
			if !errors.As(err, new(versionError)) {
				t.Errorf("a %s of version %d: error %v", kind, version, err)
				continue
			}
			for _, named := range []string{fmt.Sprintf("version %d", version), fmt.Sprintf("version %d", Protocol)} {
				if !strings.Contains(err.Error(), named) {
					t.Errorf("a %s of version %d: error %q does not name %s", kind, version, err, named)
				}
			}
		}
	}
}

// hollowTask returns a task with only a run: a reader that did not stop at the version would
// return another error.
func hollowTask() *nqueensv1.Task { return &nqueensv1.Task{Run: "x"} }

// No program writes version 0: an empty message has it, and garbage that happens to parse.
// It is not kept for a program that could read it.
func TestMessagesWithoutAVersionAreRejected(t *testing.T) {
	task, result, beat := taskMessage(), resultMessage(), heartbeatMessage()
	task.Protocol, result.Protocol, beat.Protocol = 0, 0, 0
	_, taskErr := decodeTask(taskSubject(task.Run), must(proto.Marshal(task)))
	_, resultErr := decodeResult(resultSubject(result.Run), must(proto.Marshal(result)))
	_, beatErr := decodeHeartbeat("", must(proto.Marshal(beat)))
	_, emptyErr := decodeTask("nq.task.x", nil)
	for kind, err := range map[string]error{"task": taskErr, "result": resultErr, "heartbeat": beatErr, "empty message": emptyErr} {
		if err == nil || errors.As(err, new(versionError)) {
			t.Errorf("a %s of no version: error %v", kind, err)
		}
	}
}

// A bit that flips in transit never changes what is counted.
func TestFlippedBitsNeverChangeWhatIsCounted(t *testing.T) {
	m := taskMessage()
	subject, data := taskSubject(m.Run), must(proto.Marshal(m))
	want, err := decodeTask(subject, data)
	if err != nil {
		t.Fatal(err)
	}
	for bit := range 8 * len(data) {
		data[bit/8] ^= 1 << (bit % 8)
		got, err := decodeTask(subject, data)
		data[bit/8] ^= 1 << (bit % 8)
		if err != nil {
			continue
		}
		got.Attempt = want.Attempt
		if !reflect.DeepEqual(got, want) {
			t.Errorf("with bit %d flipped, %+v arrives as %+v", bit, want, got)
		}
	}
}

// A truncated task is always rejected; other truncated messages are rejected or valid.
func TestTruncatedMessagesAreRejected(t *testing.T) {
	task := taskMessage()
	data := must(proto.Marshal(task))
	for end := range data {
		if _, err := decodeTask(taskSubject(task.Run), data[:end]); err == nil {
			t.Errorf("the first %d of a task's %d bytes are read as a task", end, len(data))
		}
	}
	result := resultMessage()
	data = must(proto.Marshal(result))
	for end := range data {
		if r, err := decodeResult(resultSubject(result.Run), data[:end]); err == nil && r.Validate() != nil {
			t.Errorf("the first %d of a result's %d bytes: %v", end, len(data), r.Validate())
		}
	}
	data = must(proto.Marshal(heartbeatMessage()))
	for end := range data {
		if h, err := decodeHeartbeat("", data[:end]); err == nil && h.Validate() != nil {
			t.Errorf("the first %d of a heartbeat's %d bytes: %v", end, len(data), h.Validate())
		}
	}
}

func TestGarbageIsRejected(t *testing.T) {
	rng := testkit.Rand(t)
	for length := range 300 {
		data := make([]byte, length)
		for i := range data {
			data[i] = byte(rng.Uint32())
		}
		_, taskErr := decodeTask("nq.task.x", data)
		_, resultErr := decodeResult("nq.result.x", data)
		_, beatErr := decodeHeartbeat("", data)
		if taskErr == nil || resultErr == nil || beatErr == nil {
			t.Errorf("garbage %x: errors %v, %v, %v", data, taskErr, resultErr, beatErr)
		}
	}
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}
