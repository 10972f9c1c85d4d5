package bus

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	nqueensv1 "nqueens/proto/nqueens/v1"

	"nqueens/pkg/queens"
	"nqueens/pkg/run"
	"nqueens/pkg/testkit"
)

func TestProgressRoundTrips(t *testing.T) {
	rng := testkit.Rand(t)
	for range 500 {
		want := randomSnapshot(rng)
		got, err := decodeProgress(ProgressSubject(want.Run), must(encodeProgress(&want)))
		if err != nil || !same(got, want) {
			t.Fatalf("%+v arrives as %+v (error %v)", want, got, err)
		}
	}
}

// The snapshot of a large cluster stays far below the server's limit of one megabyte,
// whatever the names of its workers.
func TestProgressOfALargeClusterIsSmall(t *testing.T) {
	s := randomSnapshot(testkit.Rand(t))
	s.Workers = nil
	for range run.MaxWorkers {
		s.Workers = append(s.Workers, run.Worker{
			Name: strings.Repeat("x", 128), Kernel: strings.Repeat("k", 128), Threads: 1 << 16, Rate: 1e12, Held: 1 << 16, Oldest: math.MaxInt64,
		})
	}
	data := must(encodeProgress(&s))
	if _, err := decodeProgress(ProgressSubject(s.Run), data); err != nil || len(data) > 100_000 {
		t.Errorf("%d bytes (error %v)", len(data), err)
	}
}

// Worker names that are invalid UTF-8 are sanitized, so that the snapshot is not lost.
func TestProgressSanitizesWorkerNames(t *testing.T) {
	s := randomSnapshot(testkit.Rand(t))
	s.Workers = []run.Worker{{Name: "rack\xff7\n", Kernel: "\xfe", Threads: 1}}
	got, err := decodeProgress(ProgressSubject(s.Run), must(encodeProgress(&s)))
	if err != nil || got.Workers[0].Name != "rack?7?" || got.Workers[0].Kernel != "?" {
		t.Errorf("the workers are %+v (error %v)", got.Workers, err)
	}
}

func TestProgressOnAnotherSubjectIsRejected(t *testing.T) {
	data := must(proto.Marshal(progressMessage()))
	for _, subject := range []string{"", "n8-a", "nq.progress.", "nq.progress.n8", "nq.progress.*", "nq.progress.n8-a.x", "nq.task.n8-a", "nq.progress.N8-A"} {
		if _, err := decodeProgress(subject, data); err == nil {
			t.Errorf("progress of run n8-a is read on subject %q", subject)
		}
	}
}

func TestHostileProgressIsRejected(t *testing.T) {
	giant := strings.Repeat("9", 1<<20)
	member := func(change func(*nqueensv1.WorkerStatus)) func(*nqueensv1.Progress) {
		return func(m *nqueensv1.Progress) { change(m.Workers[1]) }
	}
	for name, c := range map[string]struct {
		change func(*nqueensv1.Progress)
		want   string
	}{
		"no version":              {func(m *nqueensv1.Progress) { m.Protocol = 0 }, "without a protocol version"},
		"another version":         {func(m *nqueensv1.Progress) { m.Protocol = 1 }, "version 1, this program speaks version 4"},
		"no run":                  {func(m *nqueensv1.Progress) { m.Run = "" }, "run name"},
		"every run":               {func(m *nqueensv1.Progress) { m.Run = ">" }, "run name"},
		"a giant run":             {func(m *nqueensv1.Progress) { m.Run = giant }, "run name"},
		"no side":                 {func(m *nqueensv1.Progress) { m.N = 0 }, "from 1 to 32, not 0"},
		"side 33":                 {func(m *nqueensv1.Progress) { m.N = 33 }, "from 1 to 32, not 33"},
		"side 2^32-1":             {func(m *nqueensv1.Progress) { m.N = math.MaxUint32 }, "out of range"},
		"another symmetry":        {func(m *nqueensv1.Progress) { m.Symmetry = giant }, "no count has the symmetry"},
		"more queens than rows":   {func(m *nqueensv1.Progress) { m.Placed = 9 }, "9 placed queens"},
		"no state":                {func(m *nqueensv1.Progress) { m.State = "" }, "no run has the state"},
		"another state":           {func(m *nqueensv1.Progress) { m.State = giant }, "no run has the state"},
		"a total too early":       {func(m *nqueensv1.Progress) { m.Total = "92" }, "the state running, and a total"},
		"complete, without total": {func(m *nqueensv1.Progress) { m.State = "complete" }, "the state complete, and a total"},
		"a total of letters":      {func(m *nqueensv1.Progress) { m.State, m.Total = "complete", "0x5c" }, `"0x5c" for a number`},
		"moved while it counts":   {func(m *nqueensv1.Progress) { m.MovedTo = "nats://a" }, "a move to another server"},
		"a giant server":          {func(m *nqueensv1.Progress) { m.State, m.MovedTo = "stopped", giant }, "a server of 1048576 bytes"},
		"no solutions":            {func(m *nqueensv1.Progress) { m.Solutions = "" }, `"" for a number`},
		"negative solutions":      {func(m *nqueensv1.Progress) { m.Solutions = "-1" }, "negative"},
		"solutions with a sign":   {func(m *nqueensv1.Progress) { m.Solutions = "+1" }, `"+1" for a number`},
		"solutions with zeros":    {func(m *nqueensv1.Progress) { m.Solutions = "01" }, `"01" for a number`},
		"huge solutions":          {func(m *nqueensv1.Progress) { m.Solutions = giant[:79] }, "more than 256 bits"},
		"giant solutions":         {func(m *nqueensv1.Progress) { m.Solutions = giant }, "for a number"},
		"more done than all":      {func(m *nqueensv1.Progress) { m.Done = m.Tasks + 1 }, "tasks are done"},
		"work beyond all":         {func(m *nqueensv1.Progress) { m.WorkDone = 1.0000001 }, "not 0 to 1"},
		"negative work":           {func(m *nqueensv1.Progress) { m.WorkDone = -0.1 }, "not 0 to 1"},
		"work that is no number":  {func(m *nqueensv1.Progress) { m.WorkDone = math.NaN() }, "not 0 to 1"},
		"a negative rate":         {func(m *nqueensv1.Progress) { m.Rate = -1 }, "the rate is -1"},
		"an infinite rate":        {func(m *nqueensv1.Progress) { m.Rate = math.Inf(1) }, "the rate is +Inf"},
		"a rate that is none":     {func(m *nqueensv1.Progress) { m.Rate = math.NaN() }, "the rate is NaN"},
		"negative time":           {func(m *nqueensv1.Progress) { m.ElapsedNs = 1 << 63 }, "negative or reversed times"},
		"a negative time to go":   {func(m *nqueensv1.Progress) { m.EtaMinNs = 1 << 63 }, "negative or reversed times"},
		"a reversed time to go":   {func(m *nqueensv1.Progress) { m.EtaMinNs, m.EtaMaxNs = 2, 1 }, "negative or reversed times"},
		"2^32-1 workers":          {func(m *nqueensv1.Progress) { m.WorkerCount = math.MaxUint32 }, "out of range"},
		"2^64-1 threads":          {func(m *nqueensv1.Progress) { m.Threads = math.MaxUint64 }, "out of range"},
		"2^32-1 conflicts":        {func(m *nqueensv1.Progress) { m.Conflicts = math.MaxUint32 }, "out of range"},
		"too many workers":        {func(m *nqueensv1.Progress) { m.Workers = make([]*nqueensv1.WorkerStatus, run.MaxWorkers+1) }, "a list of 257 workers"},
		"a worker without name":   {member(func(m *nqueensv1.WorkerStatus) { m.Name = "" }), "without a name"},
		"a giant worker":          {member(func(m *nqueensv1.WorkerStatus) { m.Name = giant }), "name of 1048576 bytes"},
		"a giant kernel":          {member(func(m *nqueensv1.WorkerStatus) { m.Kernel = giant }), "kernel name of 1048576 bytes"},
		"a worker that commands":  {member(func(m *nqueensv1.WorkerStatus) { m.Name = "w\x1b[2J" }), "can't be shown"},
		"a kernel that commands":  {member(func(m *nqueensv1.WorkerStatus) { m.Kernel = "k\u202e" }), "can't be shown"},
		"no threads":              {member(func(m *nqueensv1.WorkerStatus) { m.Threads = 0 }), "with 0 threads"},
		"2^32-1 threads of one":   {member(func(m *nqueensv1.WorkerStatus) { m.Threads = math.MaxUint32 }), "threads, not 1 to"},
		"a worker's bad rate":     {member(func(m *nqueensv1.WorkerStatus) { m.Rate = math.NaN() }), "the rate NaN"},
		"too many tasks held":     {member(func(m *nqueensv1.WorkerStatus) { m.Held = 1<<16 + 1 }), "65537 chunks"},
		"held for negative time":  {member(func(m *nqueensv1.WorkerStatus) { m.LongestTaskNs = 1 << 63 }), "negative time"},
	} {
		m := progressMessage()
		c.change(m)
		s, err := decodeProgress(ProgressSubject(m.Run), must(proto.Marshal(m)))
		checkRejected(t, name, c.want, err)
		if s.Run != "" {
			t.Errorf("%s: a snapshot comes with the error", name)
		}
	}
	m := progressMessage()
	m.Protocol = 1
	if _, err := decodeProgress("nq.progress.n8-a", must(proto.Marshal(m))); !errors.As(err, new(versionError)) {
		t.Errorf("a message of another version: error %v", err)
	}
}

func FuzzDecodeProgress(f *testing.F) {
	rng := testkit.Rand(f)
	for range 20 {
		s := randomSnapshot(rng)
		f.Add(ProgressSubject(s.Run), must(encodeProgress(&s)))
	}
	m := progressMessage()
	m.Protocol++
	f.Add("nq.progress.n8-a", must(proto.Marshal(m)))
	f.Add("nq.progress.n8-a", must(proto.Marshal(heartbeatMessage())))
	f.Add("", []byte{})
	f.Fuzz(func(t *testing.T, subject string, data []byte) {
		s, err := decodeProgress(subject, data)
		if err != nil {
			return
		}
		if err := s.Validate(); err != nil {
			t.Fatalf("what is read is not valid: %v", err)
		}
		if ProgressSubject(s.Run) != subject {
			t.Fatalf("progress of run %q is read on %q", s.Run, subject)
		}
		again, err := decodeProgress(subject, must(encodeProgress(&s)))
		if err != nil || !same(again, s) {
			t.Fatalf("%+v sent on arrives as %+v (error %v)", s, again, err)
		}
	})
}

// same reports whether snapshots are equal; it compares big integers by value.
func same(a, b run.Snapshot) bool {
	numbers := fmt.Sprint(a.Solutions, a.Total) == fmt.Sprint(b.Solutions, b.Total)
	a.Solutions, a.Total, b.Solutions, b.Total = nil, nil, nil, nil
	return numbers && reflect.DeepEqual(a, b)
}

func randomSnapshot(rng *rand.Rand) run.Snapshot {
	states := []run.State{run.Running, run.Stopped, run.Complete, run.Contradicted, run.Cancelled}
	huge := func() *big.Int { return new(big.Int).Lsh(new(big.Int).SetUint64(rng.Uint64()), uint(rng.IntN(193))) }
	tasks := rng.Uint64() >> rng.IntN(64)
	s := run.Snapshot{
		Run: randomRun(rng), N: 1 + rng.IntN(queens.MaxN), Symmetry: []queens.Symmetry{queens.Full, queens.Mirror, queens.None}[rng.IntN(3)],
		State: states[rng.IntN(len(states))], Done: tasks >> rng.IntN(64), Tasks: tasks, WorkDone: rng.Float64(), Solutions: huge(),
		Rate: math.Exp(100 * rng.Float64()), Elapsed: time.Duration(rng.Int64()), WorkerCount: rng.IntN(1 << 31), Threads: rng.IntN(1 << 31),
		Republished: rng.Uint64() >> rng.IntN(64), Conflicts: rng.IntN(1 << 31),
		Sharing: slices.Repeat([]string{"n20-a"}, 1+rng.IntN(run.MaxSharing)),
		Bound:   []run.Bottleneck{"", run.BySearch, run.ByLedger, "later"}[rng.IntN(4)],
	}
	s.Placed = rng.IntN(s.N + 1)
	s.ETA.Max = time.Duration(rng.Int64() >> rng.IntN(63))
	s.ETA.Min = s.ETA.Max >> rng.IntN(64)
	if s.State == run.Stopped {
		s.MovedTo = randomName(rng, 0)
	}
	if s.State == run.Complete {
		s.Total = huge()
		if known, ok := queens.KnownTotal(s.N); ok && s.Placed == 0 {
			s.Total = known
		}
	}
	for range rng.IntN(4) {
		s.Workers = append(s.Workers, run.Worker{
			Name: randomName(rng, 1), Kernel: randomName(rng, 0), Threads: 1 + rng.IntN(1<<16), Rate: rng.Float64(),
			Held: rng.IntN(1<<16 + 1), Oldest: time.Duration(rng.Int64() >> rng.IntN(63)),
		})
	}
	return s
}

// progressMessage returns valid progress with two workers, for a test to change.
func progressMessage() *nqueensv1.Progress {
	s := run.Snapshot{
		Run: "n8-a", N: 8, Symmetry: queens.Full, State: run.Running, Done: 3, Tasks: 7, WorkDone: 0.5, Solutions: big.NewInt(40),
		Workers: []run.Worker{{Name: "v", Threads: 1}, {Name: "w", Kernel: "generic", Threads: 2}},
	}
	return reread(must(encodeProgress(&s)), new(nqueensv1.Progress))
}
