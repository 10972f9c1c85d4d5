package worker_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"nqueens/pkg/identity/identitytest"
	"nqueens/pkg/run"
	"nqueens/pkg/testkit"
	"nqueens/pkg/worker"
)

// A worker whose key a live run has quarantined leaves, with an error that says why and what to do.
// Other keys, an older coordinator and a run that is not alive do not make it leave.
func TestQuarantinedWorkerLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture()
		f.run(t, 1, fakeKernel(t, counting(0)))
		key, other := identitytest.Of("w").Key(), identitytest.Of("other").Key()
		f.telemetry.send(run.Announcement{Run: "r", Epoch: 2, State: run.Running, Quarantined: []string{other}})
		f.telemetry.send(run.Announcement{Run: "r", Epoch: 1, State: run.Running, Quarantined: []string{key}})
		f.telemetry.send(run.Announcement{Run: "s", Epoch: 1, State: run.Stopped, Quarantined: []string{key}})
		time.Sleep(time.Second)
		if err := f.live(); err != nil {
			t.Error("before: ", err)
		}
		f.telemetry.send(run.Announcement{Run: "r", Epoch: 2, State: run.Running, Quarantined: []string{other, key}})
		err := f.ended()
		if !errors.Is(err, worker.ErrQuarantined) || !strings.Contains(err.Error(), "keys lift "+key) || !strings.Contains(err.Error(), "run r ") {
			t.Errorf("the worker ends with the error %v", err)
		}
	})
}

// A worker whose key a run does not admit gives back the chunks of that run, leaves it alone, says why once,
// and goes on with other runs. It counts for the run again when the key is admitted.
func TestUnadmittedWorkerServesOtherRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := new(testkit.Log)
		f := newFixture()
		f.run(t, 1, fakeKernel(t, counting(0)), func(c *worker.Config) { c.Log = zerolog.New(log) })
		key := identitytest.Of("w").Key()
		many := make([]string, run.MaxUnadmitted)
		for i := range many {
			many[i] = identitytest.Of(fmt.Sprint("other ", i)).Key()
		}
		for i, step := range []struct {
			unadmitted []string
			counts     bool
		}{{nil, true}, {[]string{key}, false}, {many, false}, {many[1:], true}, {[]string{key}, false}, {nil, true}} {
			before := f.publisher.stored()
			f.telemetry.send(run.Announcement{Run: "r", State: run.Running, Waiting: 1, Weight: 1, Unadmitted: step.unadmitted})
			f.telemetry.send(run.Announcement{Run: "s", State: run.Running, Waiting: 1, Weight: 1})
			refused := f.queue.lend(chunk(uint64(i)+1, 1))
			f.queue.lend(chunkOf("s", uint64(i)+100, 1))
			time.Sleep(time.Second)
			want := 1
			if step.counts {
				want = 2
			}
			if counted := f.publisher.stored() - before; counted != want {
				t.Errorf("step %d: it has counted %d chunks of the two runs, want %d", i, counted, want)
			}
			if held, calls := f.status().Searching, refused.all(); !step.counts && (held > 0 || len(calls) > 0 && calls[0] != "released") {
				t.Errorf("step %d: it holds %d chunks; the lease of the other run was %q", i, held, calls)
			}
			f.queue.set(func() { delete(f.queue.waiting, "r") })
		}
		if lines := log.Lines("not admitted"); len(lines) != 2 {
			t.Errorf("the log says it in %d lines: %q", len(lines), lines)
		}
		f.stop()
	})
}
