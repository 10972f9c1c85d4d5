//go:build unix

package main_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"nqueens/pkg/bus"
	"nqueens/pkg/cli/clitest"
	"nqueens/pkg/identity/identitytest"
	"nqueens/pkg/kernel"
	"nqueens/pkg/kernel/kerneltest"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
	"nqueens/pkg/testkit"
)

// Wrong counts of a single worker that nobody checks never become a total: a contradiction is exit 3.
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
	nothing := func(queens.Task, func() uint64) []uint64 { return []uint64{0} }
	const mismatch = `^{"n":8,"total":null,"known":"mismatch","run":"[^"]*","symmetry":"mirror","tasks":21,"seconds":[0-9.]+,"workers":1,"core_hours":[0-9.e-]+,"confirmed":"none","confirmed_by":{.*}}\n$`
	for _, c := range testkit.Sample(t, 1, []struct {
		name   string
		answer answer
		flags  []string
		code   int
		stdout string
		reason string
	}{
		{"beyond the known total early", tooMuch, nil, 3, `^$`, `tasks sum to \d+, more than the published total, 92`},
		{"beyond the known total early, JSON", tooMuch, []string{"--json"}, 3, mismatch, `more than the published total, 92`},
		{"beyond the known total at last", more, nil, 3, `^$`, `\d+ of 21 tasks sum to 94, more than the published total, 92`},
		{"below the known total", nothing, nil, 3, `^$`, `counted 0, .* is 92`},
		{"below the known total, JSON", nothing, []string{"--json"}, 3, mismatch, `counted 0, .* is 92`},
	}) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			coordinator, url := startCluster(t, append([]string{"8", "--depth", "2", "--spot-check", "0%"}, c.flags...)...)
			b, run := join(t, url), coordinator.Await(counting)
			ctx, stop := context.WithCancel(t.Context())
			var working sync.WaitGroup
			working.Go(func() { work(ctx, t, b, run, c.answer) })
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

// Tasks that three workers were lost with are counted by the coordinator at the end, each in a process of its own.
// If that dies too, the run ends with exit 4 and the command that counts the task alone, and can be resumed.
func TestTaskThatKillsWorkers(t *testing.T) {
	long(t)
	const side, tasks, deadly = 16, 8, 2
	s := startScene(t, fmt.Sprint(side), "--depth", "1") // tasks of a second
	b := join(t, s.server.url)
	counter := kerneltest.NewCounter(t, kernel.Available()[0])
	victims := []string{"a", "b", "c"}
	var held []run.HeldChunk
	var last uint64 // of the deadly tasks
	counts := make(map[uint64]uint64)
	for i := range tasks {
		loan := takeChunk(t, b, s.run)
		result := answers(t, counter, &loan.Chunk, func(_ queens.Task, count func() uint64) []uint64 { return []uint64{count()} })[0]
		if i < deadly {
			held = append(held, run.HeldChunk{Run: s.run, Chunk: loan.Chunk.ID, Searching: true})
			counts[loan.Chunk.First] = result.Counts[0].Count
			continue
		}
		// The loss of a worker counts if its key has a result.
		if err := errors.Join(result.Seal(identitytest.Of(victims[i%len(victims)])), b.Results().Publish(t.Context(), &result), loan.Lease.Ack(t.Context())); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range victims { // are heard of no more
		h := run.Heartbeat{Worker: name, Kernel: "k", Threads: 1, Busy: 1, Held: held}
		if err := b.Telemetry().PublishHeartbeat(h, identitytest.Of(name)); err != nil {
			t.Fatal(err)
		}
	}
	s.coordinator.Await(`("a task that lost workers is counted")`)
	testkit.Eventually(t, "the next one's process is killed", func() bool { return killChildren(t, s.coordinator.Cmd.Process.Pid) > 0 })
	s.coordinator.ExpectExit(4)
	end := s.coordinator.Await(`("exit":4,.*)`)
	for id := range counts {
		if strings.Contains(end, fmt.Sprintf("--task %d |", id)) {
			last = id
		}
	}
	command := fmt.Sprintf("coordinator ledger %s --task %d | worker task", s.run, last)
	for _, word := range append(victims, command, fmt.Sprintf("%d of %d tasks are counted", tasks-1, tasks)) {
		if !strings.Contains(end, word) {
			t.Errorf("the error %s does not have %q", end, word)
		}
	}

	alone := clitest.Shell(t, t.TempDir(), []string{"NQUEENS_DATA=" + s.coordinator.Flag("--data")}, command)
	out := alone.ExpectExit(0)
	var counted struct{ Count string }
	if err := json.Unmarshal([]byte(out), &counted); err != nil || counted.Count != strconv.FormatUint(counts[last], 10) {
		t.Errorf("%s printed %s (error %v)", command, out, err)
	}
	s.resume()
	startWorker(t, s.server.url)
	s.coordinator.ExpectTotal(known(side))
}

// killChildren kills the processes that a process has started, and returns how many there are.
func killChildren(t *testing.T, pid int) (killed int) {
	t.Helper()
	list, err := exec.Command("ps", "-A", "-o", "pid=", "-o", "ppid=").Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(list)) {
		var child, parent int
		if _, err := fmt.Sscan(line, &child, &parent); err != nil {
			t.Fatal(err)
		}
		if parent == pid && syscall.Kill(child, syscall.SIGKILL) == nil {
			killed++
		}
	}
	return killed
}

// answer returns the counts that a worker reports for a task.
type answer func(task queens.Task, count func() uint64) []uint64

// work acts as a worker of a run until ctx ends.
func work(ctx context.Context, t *testing.T, b *bus.Bus, run string, answer answer) {
	generic, err := kernel.Choose("generic")
	if err != nil {
		t.Error(err)
		return
	}
	counter, err := generic.New()
	if err != nil {
		t.Error(err)
		return
	}
	defer func() {
		if err := counter.Close(); err != nil {
			t.Error(err)
		}
	}()
	queue := b.Queue()
	defer queue.Close()
	for ctx.Err() == nil {
		loans, err := queue.Take(ctx, run, 1)
		if err != nil || len(loans) == 0 {
			elapse(t, 10*time.Millisecond)
			continue
		}
		for _, r := range answers(t, counter, &loans[0].Chunk, answer) {
			// Each result has another key: one that is quarantined does not end the test's work.
			if err := r.Seal(identitytest.Of(fmt.Sprint(r.Chunk))); err != nil {
				t.Error(err)
			}
			// A server that has ended with its coordinator is not waited for.
			for errors.Is(b.Results().Publish(context.Background(), &r), context.DeadlineExceeded) && b.Connected() == nil && t.Context().Err() == nil {
				t.Log("the server is slow to store a result: trying again")
			}
		}
		_ = loans[0].Lease.Ack(context.Background())
	}
}

// answers returns the results of a worker for a chunk: one for each further count of a task, then
// one with its first count of each.
func answers(t *testing.T, counter kernel.Counter, chunk *run.Chunk, answer answer) []run.ChunkResult {
	result := run.ChunkResult{Run: chunk.Run, Manifest: chunk.Manifest, Chunk: chunk.ID, First: chunk.First, Worker: "test"}
	var further []run.ChunkResult
	for i := range chunk.Tasks {
		task := chunk.Task(i)
		counts := answer(task, func() uint64 {
			n, err := counter.Count(context.Background(), &task.Board, task.Prefixes, new(atomic.Uint64))
			if err != nil {
				t.Error(err)
			}
			return n
		})
		for k, n := range counts {
			count := run.TaskCount{Hash: task.Hash(), Count: n, Kernel: "generic"}
			if k == 0 {
				result.Counts = append(result.Counts, count)
				continue
			}
			other := result // of another chunk, because the server stores a worker's result of a chunk once
			other.Chunk, other.First, other.Counts = rand.Uint64()|1, task.ID, []run.TaskCount{count}
			further = append(further, other)
		}
	}
	return append(further, result)
}
