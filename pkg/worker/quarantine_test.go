package worker_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"nqueens/pkg/identity/identitytest"
	"nqueens/pkg/run"
	"nqueens/pkg/worker"
)

// A worker whose key a live run has quarantined leaves, with an error that says why and what to do.
// Other keys, an older coordinator and a run that is not alive do not make it leave.
func TestQuarantinedWorkerLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture()
		f.run(t, 1, fakeKernel(t, counting(0)))
		key, other := identitytest.Of("w").Key(), identitytest.Of("other").Key()
		f.telemetry.send(run.Beat{Run: "r", Epoch: 2, State: run.Running, Quarantined: []string{other}})
		f.telemetry.send(run.Beat{Run: "r", Epoch: 1, State: run.Running, Quarantined: []string{key}})
		f.telemetry.send(run.Beat{Run: "s", Epoch: 1, State: run.Stopped, Quarantined: []string{key}})
		time.Sleep(time.Second)
		if err := f.live(); err != nil {
			t.Error("before: ", err)
		}
		f.telemetry.send(run.Beat{Run: "r", Epoch: 2, State: run.Running, Quarantined: []string{other, key}})
		err := f.ended()
		if !errors.Is(err, worker.ErrQuarantined) || !strings.Contains(err.Error(), "keys lift "+key) || !strings.Contains(err.Error(), "run r ") {
			t.Errorf("the worker ends with the error %v", err)
		}
	})
}
