package bus

import (
	"encoding/json"
	"errors"
	"math/big"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"nqueens/pkg/queens"
	"nqueens/pkg/run"
)

func wireSnapshotOf(workers ...run.Worker) *run.Snapshot {
	return &run.Snapshot{
		Run: "n8-a", N: 8, Symmetry: queens.Full, State: run.Running, Done: 3, Tasks: 7, WorkDone: 0.5,
		Solutions: (*run.Decimal)(big.NewInt(40)), WorkerList: workers,
	}
}

// A snapshot arrives as it was sent, on the subject of its run and on no other. That of a large cluster stays below
// the server's limit of one megabyte, whatever the names of its workers.
func TestSnapshotRoundTrips(t *testing.T) {
	crowd := make([]run.Worker, run.MaxWorkers)
	for i := range crowd {
		crowd[i] = run.Worker{
			Name: strings.Repeat("x", 128), Kernel: strings.Repeat("k", 128), Threads: 1 << 16, Rate: 1e12 / 7, Held: 1 << 16,
			Oldest: run.Seconds{Duration: 100 * 24 * time.Hour},
		}
	}
	hostile := slices.Clone(crowd)
	for i := range hostile {
		hostile[i].Name, hostile[i].Kernel, hostile[i].Paused = strings.Repeat("<", 128), strings.Repeat("&", 128), strings.Repeat(">", 128)
	}
	for _, want := range []*run.Snapshot{wireSnapshotOf(), wireSnapshotOf(crowd...), wireSnapshotOf(hostile...)} {
		data := must(encodeSnapshot(want))
		if got, err := decodeSnapshot("nq.progress.n8-a", data); err != nil || !reflect.DeepEqual(got, want) || len(data) > run.MaxSnapshotBytes {
			t.Errorf("a snapshot of %d workers in %d bytes arrives otherwise (error %v)", len(want.WorkerList), len(data), err)
		}
		for _, subject := range []string{"", "n8-a", "nq.progress.", "nq.progress.n8", "nq.progress.*", "nq.progress.n8-a.x", "nq.task.n8-a", "nq.progress.N8-A"} {
			if _, err := decodeSnapshot(subject, data); err == nil {
				t.Errorf("a snapshot of run n8-a is read on subject %q", subject)
			}
		}
	}
}

// A snapshot of another protocol version says so, whatever else is in it. Invalid ones are refused: see package run.
func TestHostileSnapshotsAreRefused(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"no JSON":          {"\xff\xfe", "invalid character"},
		"nothing":          {"", "unexpected end"},
		"no version":       {"{}", "without a protocol version"},
		"another version":  {`{"protocol":1,"later":[]}`, "version 1, this program speaks version"},
		"an unknown field": {strings.Replace(string(must(encodeSnapshot(wireSnapshotOf()))), `"n":8`, `"n":8,"later":1`, 1), "later"},
		"another side":     {strings.Replace(string(must(encodeSnapshot(wireSnapshotOf()))), `"n":8`, `"n":33`, 1), "from 1 to 32, not 33"},
		"a giant":          {strings.Repeat(" ", run.MaxSnapshotBytes+1), "more than"},
	} {
		s, err := decodeSnapshot("nq.progress.n8-a", []byte(c.text))
		checkRejected(t, name, c.want, err)
		if s != nil {
			t.Errorf("%s: a snapshot comes with the error", name)
		}
	}
	if _, err := decodeSnapshot("nq.progress.n8-a", []byte(`{"protocol":1}`)); !errors.As(err, new(versionError)) {
		t.Errorf("a snapshot of another version: error %v", err)
	}
}

func FuzzDecodeSnapshot(f *testing.F) {
	f.Add("nq.progress.n8-a", must(encodeSnapshot(wireSnapshotOf(run.Worker{Name: "w", Kernel: "generic", Threads: 2}))))
	f.Add("", []byte{})
	f.Fuzz(func(t *testing.T, subject string, data []byte) {
		s, err := decodeSnapshot(subject, data)
		if err != nil {
			return
		}
		if err := s.Validate(); err != nil || ProgressSubject(s.Run) != subject {
			t.Fatalf("on %q, what is read is not valid: %v", subject, err)
		}
		again, err := decodeSnapshot(subject, must(encodeSnapshot(s)))
		if err != nil || string(must(json.Marshal(again))) != string(must(json.Marshal(s))) {
			t.Fatalf("%+v sent on arrives as %+v (error %v)", s, again, err)
		}
	})
}
