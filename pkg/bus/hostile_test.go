package bus

import (
	"math"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	nqueensv1 "nqueens/proto/nqueens/v1"

	"nqueens/pkg/queens"
	"nqueens/pkg/run"
)

// Well-formed messages with impossible content are rejected with the reason, before anything
// is computed from the content.

func TestHostileTasksAreRejected(t *testing.T) {
	wide := func(p *nqueensv1.Prefix) func(*nqueensv1.Task) {
		return func(m *nqueensv1.Task) { m.Prefixes[1] = p }
	}
	for name, c := range map[string]struct {
		change func(*nqueensv1.Task)
		want   string
	}{
		"no side":                  {func(m *nqueensv1.Task) { m.N, m.Allow = 0, nil }, "from 1 to 32, not 0"},
		"side 33":                  {func(m *nqueensv1.Task) { m.N, m.Allow = 33, make([]uint32, 33) }, "side 33"},
		"side 2^32-1":              {func(m *nqueensv1.Task) { m.N = math.MaxUint32 }, "side 4294967295"},
		"too few rows":             {func(m *nqueensv1.Task) { m.Allow = m.Allow[1:] }, "side 8 with 7 rows"},
		"too many rows":            {func(m *nqueensv1.Task) { m.Allow = append(m.Allow, 0) }, "side 8 with 9 rows"},
		"many rows":                {func(m *nqueensv1.Task) { m.Allow = make([]uint32, 100_000) }, "with 100000 rows"},
		"no rows":                  {func(m *nqueensv1.Task) { m.Allow = nil }, "side 8 with 0 rows"},
		"squares beyond the board": {func(m *nqueensv1.Task) { m.Allow[3] = 1 << 8 }, "beyond a board of side 8"},
		"columns beyond the board": {wide(&nqueensv1.Prefix{Row: 1, Cols: 1 << 8}), "passes a board of side 8"},
		"left beyond the board":    {wide(&nqueensv1.Prefix{Left: 1 << 31}), "passes a board of side 8"},
		"right beyond the board":   {wide(&nqueensv1.Prefix{Right: 1 << 8}), "passes a board of side 8"},
		"a row beyond the board":   {wide(&nqueensv1.Prefix{Row: 9, Cols: 0x1ff}), "9 rows on a board of side 8"},
		"row 2^31":                 {wide(&nqueensv1.Prefix{Row: 1 << 31}), "rows on a board of side 8"},
		"row 2^32-1":               {wide(&nqueensv1.Prefix{Row: math.MaxUint32}), "rows on a board of side 8"},
		"fewer columns than rows":  {wide(&nqueensv1.Prefix{Row: 2, Cols: 1}), "2 rows with 1 columns"},
		"more columns than rows":   {wide(&nqueensv1.Prefix{Row: 1, Cols: 3}), "1 rows with 2 columns"},
		"no prefix":                {func(m *nqueensv1.Task) { m.Prefixes = nil }, "0 prefixes"},
		"too many prefixes": {func(m *nqueensv1.Task) {
			m.Prefixes = make([]*nqueensv1.Prefix, queens.MaxBatch+1)
			for i := range m.Prefixes {
				m.Prefixes[i] = &nqueensv1.Prefix{}
			}
		}, "16385 prefixes"},
		"kept from too many":     {func(m *nqueensv1.Task) { m.ExcludedWorkers = make([]string, queens.MaxExcludedWorkers+1) }, "excludes 65 workers"},
		"no attempt":             {func(m *nqueensv1.Task) { m.Attempt = 0 }, "no attempt number"},
		"no run":                 {func(m *nqueensv1.Task) { m.Run = "" }, "run name"},
		"a run of two tokens":    {func(m *nqueensv1.Task) { m.Run = "n8.a" }, "run name"},
		"a wild run":             {func(m *nqueensv1.Task) { m.Run = "*" }, "run name"},
		"every run":              {func(m *nqueensv1.Task) { m.Run = ">" }, "run name"},
		"a run that is a path":   {func(m *nqueensv1.Task) { m.Run = "../../etc" }, "run name"},
		"a run that is a flag":   {func(m *nqueensv1.Task) { m.Run = "-rf" }, "run name"},
		"a run in capitals":      {func(m *nqueensv1.Task) { m.Run = "N8" }, "run name"},
		"a run with a line feed": {func(m *nqueensv1.Task) { m.Run = "n8\n" }, "run name"},
		"a run of 65 letters":    {func(m *nqueensv1.Task) { m.Run = strings.Repeat("n", 65) }, "run name"},
		"a giant run":            {func(m *nqueensv1.Task) { m.Run = strings.Repeat("n", 1<<20) }, "run name"},
	} {
		m := taskMessage()
		c.change(m)
		task, err := decodeTask(taskSubject(m.Run), must(proto.Marshal(m)))
		checkRejected(t, name, c.want, err)
		if len(task.Prefixes) != 0 || task.Run != "" {
			t.Errorf("%s: a task comes with the error", name)
		}
	}
}

func TestHostileResultsAreRejected(t *testing.T) {
	giant := strings.Repeat("x", 1<<20)
	for name, c := range map[string]struct {
		change func(*nqueensv1.Result)
		want   string
	}{
		"no run":                {func(m *nqueensv1.Result) { m.Run = "" }, "run name"},
		"every run":             {func(m *nqueensv1.Result) { m.Run = ">" }, "run name"},
		"a giant run":           {func(m *nqueensv1.Result) { m.Run = giant }, "run name"},
		"no attempt":            {func(m *nqueensv1.Result) { m.Attempt = 0 }, "no attempt number"},
		"no worker":             {func(m *nqueensv1.Result) { m.Worker = "" }, "does not name its worker"},
		"a worker of 129 bytes": {func(m *nqueensv1.Result) { m.Worker = giant[:129] }, "worker name of 129 bytes"},
		"a giant worker":        {func(m *nqueensv1.Result) { m.Worker = giant }, "worker name of 1048576 bytes"},
		"no kernel":             {func(m *nqueensv1.Result) { m.Kernel = "" }, "does not name its worker and kernel"},
		"a giant kernel":        {func(m *nqueensv1.Result) { m.Kernel = giant }, "kernel name of 1048576 bytes"},
		"negative time":         {func(m *nqueensv1.Result) { m.ElapsedNs = 1 << 63 }, "negative time"},
		"all bits of time":      {func(m *nqueensv1.Result) { m.ElapsedNs = math.MaxUint64 }, "negative time"},
	} {
		m := resultMessage()
		c.change(m)
		_, err := decodeResult(resultSubject(m.Run), must(proto.Marshal(m)))
		checkRejected(t, name, c.want, err)
	}
}

func TestHostileHeartbeatsAreRejected(t *testing.T) {
	giant := strings.Repeat("x", 1<<20)
	for name, c := range map[string]struct {
		change func(*nqueensv1.Heartbeat)
		want   string
	}{
		"no worker":             {func(m *nqueensv1.Heartbeat) { m.Worker = "" }, "without a name"},
		"a worker of 129 bytes": {func(m *nqueensv1.Heartbeat) { m.Worker = giant[:129] }, "worker name of 129 bytes"},
		"a giant version":       {func(m *nqueensv1.Heartbeat) { m.Version = giant }, "version of 1048576 bytes"},
		"a giant kernel":        {func(m *nqueensv1.Heartbeat) { m.Kernel = giant }, "kernel name of 1048576 bytes"},
		"no threads":            {func(m *nqueensv1.Heartbeat) { m.Threads = 0 }, "with 0 threads"},
		"65537 threads":         {func(m *nqueensv1.Heartbeat) { m.Threads = 1<<16 + 1 }, "with 65537 threads"},
		"a task of no run":      {func(m *nqueensv1.Heartbeat) { m.Held = []*nqueensv1.ActiveTask{{}} }, "run name"},
		"a task of every run":   {func(m *nqueensv1.Heartbeat) { m.Held = []*nqueensv1.ActiveTask{{Run: "n8-a"}, {Run: ">"}} }, "run name"},
		"held a negative time":  {func(m *nqueensv1.Heartbeat) { m.Held = []*nqueensv1.ActiveTask{{Run: "n8-a", ElapsedNs: 1 << 63}} }, "negative time"},
		"too many tasks":        {func(m *nqueensv1.Heartbeat) { m.Held = make([]*nqueensv1.ActiveTask, 1<<16+1) }, "with 65537 tasks"},
		"2^32-1 threads":        {func(m *nqueensv1.Heartbeat) { m.Threads = math.MaxUint32 }, "threads, not 1 to"},
	} {
		m := heartbeatMessage()
		c.change(m)
		_, err := decodeHeartbeat("", must(proto.Marshal(m)))
		checkRejected(t, name, c.want, err)
	}
}

// checkRejected checks that the error says what is wrong, and is short: it is logged.
func checkRejected(t *testing.T, name, want string, err error) {
	t.Helper()
	switch {
	case err == nil || !strings.Contains(err.Error(), want):
		t.Errorf("%s: error %.200v, want one that says %q", name, err, want)
	case len(err.Error()) > 1000:
		t.Errorf("%s: the error has %d bytes", name, len(err.Error()))
	}
}

// taskMessage returns a valid task of side 8 and two prefixes, for a test to change.
func taskMessage() *nqueensv1.Task {
	board := queens.FullBoard(8)
	t := queens.Task{Run: "n8-a", ID: 3, Attempt: 1, Board: board, Prefixes: []queens.Prefix{
		queens.Prefix{}.Place(&board, 1),
		queens.Prefix{}.Place(&board, 2),
	}}
	return reread(must(encodeTask(&t)), new(nqueensv1.Task))
}

func resultMessage() *nqueensv1.Result {
	r := queens.Result{Run: "n8-a", Task: 3, Hash: 1, Attempt: 1, Count: 4, Worker: "w", Kernel: "generic", Elapsed: 1}
	return reread(must(encodeResult(&r)), new(nqueensv1.Result))
}

func heartbeatMessage() *nqueensv1.Heartbeat {
	h := run.Heartbeat{Worker: "w", Version: "1.0", Kernel: "generic", Threads: 2, Leaving: true}
	return reread(must(encodeHeartbeat(&h)), new(nqueensv1.Heartbeat))
}

func reread[M proto.Message](data []byte, m M) M {
	if err := proto.Unmarshal(data, m); err != nil {
		panic(err)
	}
	return m
}
