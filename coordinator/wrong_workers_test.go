//go:build unix

package main_test

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"google.golang.org/protobuf/proto"

	"nqueens/pkg/bus"
	"nqueens/pkg/cli/clitest"
	"nqueens/pkg/kernel"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
	"nqueens/pkg/testkit"
	nqueensv1 "nqueens/proto/nqueens/v1"
)

// Wrong counts of a single worker never become a total: a contradiction is exit 3, and two
// counts for one task are exit 4.
func TestWrongCountsAreNoTotal(t *testing.T) {
	t.Parallel()
	inOne := func(lie func(n uint64) []uint64) answer {
		return func(task queens.Task, count func() uint64) []uint64 {
			if task.ID == 5 {
				return lie(count())
			}
			return []uint64{count()}
		}
	}
	more := inOne(func(n uint64) []uint64 { return []uint64{n + 1} })
	tooMuch := inOne(func(n uint64) []uint64 { return []uint64{n + 1000} })
	both := inOne(func(n uint64) []uint64 { return []uint64{n, n + 1} })
	nothing := func(queens.Task, func() uint64) []uint64 { return []uint64{0} }
	const mismatch = `^{"n":8,"total":null,"known":"mismatch","run":"[^"]*","symmetry":"mirror","tasks":21,"seconds":[0-9.]+,"workers":1}\n$`
	for _, c := range testkit.Sample(t, 3, []struct {
		name   string
		answer answer
		flags  []string
		code   int
		stdout string
		reason string
	}{
		{"beyond the known total early", tooMuch, nil, 3, `^$`, `tasks sum to \d+, more than the published total, 92`},
		{"beyond the known total early, JSON", tooMuch, []string{"--json"}, 3, mismatch, `more than the published total, 92`},
		{"beyond the known total at last", more, nil, 3, `^$`, `21 of 21 tasks sum to 94, more than the published total, 92`},
		{"below the known total", nothing, nil, 3, `^$`, `counted 0, .* is 92`},
		{"below the known total, JSON", nothing, []string{"--json"}, 3, mismatch, `counted 0, .* is 92`},
		{"two results for a task", both, nil, 4, `^$`, `task 5 was counted`},
		{"two results for a task, JSON", both, []string{"--json"}, 4, `^$`, `task 5 was counted`},
	}) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			coordinator, url := startCluster(t, append([]string{"8", "--depth", "2"}, c.flags...)...)
			b := join(t, url)
			ctx, stop := context.WithCancel(t.Context())
			var working sync.WaitGroup
			working.Go(func() { work(ctx, t, b, c.answer) })
			stdout := coordinator.ExpectExit(c.code)
			stop()
			working.Wait()
			if !regexp.MustCompile(c.stdout).MatchString(stdout) {
				t.Errorf("it printed %q, want %#q", stdout, c.stdout)
			}
			if coordinator.Lines(`"exit":`+strconv.Itoa(c.code)+`,.*`+c.reason) != 1 {
				t.Errorf("the error is not: %s", c.reason)
			}
		})
	}
}

// A worker that reports a wrong or malformed result, beside two honest ones, is named in the
// log, and others count its task: the total is exact.
func TestTotalIsExactDespiteAWrongWorker(t *testing.T) {
	t.Parallel()
	publish := func(v view, m *nqueensv1.Result) error {
		data, err := proto.Marshal(m)
		if err == nil {
			_, err = v.js.Publish(v.t.Context(), "nq.result."+m.GetRun(), data)
		}
		return err
	}
	for _, c := range testkit.Sample(t, 2, []struct {
		name  string
		spoil func(m *nqueensv1.Result)
		log   string
	}{
		{"wrong count", func(m *nqueensv1.Result) { m.Count++ }, `conflict.*counted .* by liar`},
		{"another's hash", func(m *nqueensv1.Result) { m.Hash++ }, `its hash is not that of the task.*"worker":"liar".*refused a result`},
		{"no such task", func(m *nqueensv1.Result) { m.Task = 1000 }, `no such task.*"worker":"liar".*refused a result`},
		{"other protocol", func(m *nqueensv1.Result) { m.Protocol = 2 }, `message of protocol version 2.*"worker":"liar".*rejected a message`},
		{"no protocol", func(m *nqueensv1.Result) { m.Protocol = 0 }, `message without a protocol version.*rejected a message`},
		{"no kernel's name", func(m *nqueensv1.Result) { m.Kernel = "" }, `rejected a message`},
	}) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := startScene(t, "8", "--depth", "2")
			task, lease, err := join(t, s.server.url).Queue().Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			m := &nqueensv1.Result{
				Protocol: 1, Run: task.Run, Task: task.ID, Attempt: task.Attempt, Hash: task.Hash(),
				Count: count(t, &task), Worker: "liar", Kernel: "generic",
			}
			c.spoil(m)
			if err := publish(s.view, m); err != nil {
				t.Fatal(err)
			}
			if err := lease.Release(); err != nil {
				t.Fatal(err)
			}
			startWorker(t, s.server.url)
			startWorker(t, s.server.url)
			s.coordinator.ExpectTotal(known(8))
			if s.coordinator.Lines(c.log) == 0 {
				t.Errorf("the coordinator did not log %s", c.log)
			}
		})
	}
}

// A task that three workers were lost with is quarantined: the run ends with exit 4 and the
// command that counts the task alone. The run can be resumed.
func TestTaskThatKillsWorkersIsQuarantined(t *testing.T) {
	long(t)
	const tasks, deadly = 8, 3
	s := startScene(t, "16", "--depth", "1")
	b := join(t, s.server.url)
	task, lease, err := b.Queue().Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	honest := startWorker(t, s.server.url, "--kernel", "auto")
	s.view.eventually("all other tasks are done", func() bool { return s.done() == tasks-1 })
	honest.Signal(syscall.SIGTERM)
	honest.ExpectExit(0)

	ctx, stop := context.WithCancel(t.Context())
	held := make(chan string)
	var listening sync.WaitGroup
	listening.Go(func() {
		err := b.Telemetry().WatchHeartbeats(ctx, func(h run.Heartbeat) {
			if len(h.Held) == 1 && h.Held[0].Task == task.ID {
				select {
				case held <- h.Worker:
				case <-ctx.Done():
				}
			}
		})
		if err != nil {
			t.Error(err)
		}
	})
	// A worker announces a task that was delivered before.
	if err := lease.Release(); err != nil {
		t.Fatal(err)
	}
	var victims []string
	for range deadly {
		victim := startWorker(t, s.server.url)
		victims = append(victims, <-held)
		victim.Kill()
	}
	stop()
	listening.Wait()
	s.coordinator.ExpectExit(4)
	command := fmt.Sprintf("coordinator ledger %s --task %d | worker task", s.run, task.ID)
	end := s.coordinator.Await(`("exit":4,.*)`)
	for _, word := range append(victims, command, "7 of 8 tasks are counted") {
		if !strings.Contains(end, word) {
			t.Errorf("the error %s does not have %q", end, word)
		}
	}

	alone := clitest.Shell(t, t.TempDir(), []string{"NQUEENS_DATA=" + s.coordinator.Flag("--data")}, command)
	out := alone.ExpectExit(0)
	var counted struct{ Count string }
	if err := json.Unmarshal([]byte(out), &counted); err != nil || counted.Count != strconv.FormatUint(count(t, &task), 10) {
		t.Errorf("%s printed %s (error %v)", command, out, err)
	}
	s.resume()
	startWorker(t, s.server.url)
	s.coordinator.ExpectTotal(known(16))
}

// count counts a task with the reference kernel.
func count(t *testing.T, task *queens.Task) uint64 {
	t.Helper()
	generic, err := kernel.Choose("generic")
	if err != nil {
		t.Fatal(err)
	}
	n, err := generic.New().Count(t.Context(), &task.Board, task.Prefixes, new(atomic.Uint64))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// answer returns the counts that a worker reports for a task.
type answer func(task queens.Task, count func() uint64) []uint64

// work acts as a worker until ctx ends.
func work(ctx context.Context, t *testing.T, b *bus.Bus, answer answer) {
	generic, err := kernel.Choose("generic")
	if err != nil {
		t.Error(err)
		return
	}
	counter, queue := generic.New(), b.Queue()
	for ctx.Err() == nil {
		task, lease, err := queue.Next(ctx)
		if err != nil {
			return
		}
		counts := answer(task, func() uint64 {
			n, err := counter.Count(context.Background(), &task.Board, task.Prefixes, new(atomic.Uint64))
			if err != nil {
				t.Error(err)
			}
			return n
		})
		for i, n := range counts {
			_ = b.Results().Publish(context.Background(), &queens.Result{
				Run: task.Run, Task: task.ID, Hash: task.Hash(), Attempt: task.Attempt + uint32(i),
				Count: n, Worker: "test", Kernel: "generic",
			})
		}
		_ = lease.Ack(context.Background())
	}
}
