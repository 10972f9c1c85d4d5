//go:build unix

package main_test

import (
	"fmt"
	"os"
	"regexp"
	"syscall"
	"testing"
)

// A second coordinator of a run on the same machine ends, and names the process of the first.
func TestSecondCoordinatorOnThisMachineIsRefused(t *testing.T) {
	long(t)
	s := startScene(t, "12", "--depth", "2")
	data := s.coordinator.Flag("--data")
	for _, args := range [][]string{{"resume", s.run}, {"resume"}, {"count", "12", "--depth", "2"}} {
		second := start(t, "coordinator", append(args, "--data", data, "--nats", s.server.url)...)
		if out := second.ExpectExit(1); out != "" {
			t.Errorf("%q printed %q", args, out)
		}
		if second.Lines(fmt.Sprintf("in use.* by process %d on", s.coordinator.Cmd.Process.Pid)) != 1 {
			t.Errorf("%q did not name the process that has the run", args)
		}
	}
	startWorker(t, s.server.url)
	s.coordinator.ExpectTotal(known(12))
}

// A coordinator that takes a run over on another machine ends the first one with exit 4. The
// first removes nothing from the server.
func TestTakenOverCoordinatorLeavesTheRunAlone(t *testing.T) {
	long(t)
	s := startScene(t, "14", "--depth", "3")
	work := startGated(t, s.server.url, 1)
	work.during(func() { s.progress(20) })
	first := s.coordinator
	s.coordinator = start(t, "coordinator", "resume", s.run, "--take-over", "--data", t.TempDir(), "--nats", s.server.url)
	s.coordinator.Await(`("reconciled)`)
	if out := first.ExpectExit(4); out != "" {
		t.Errorf("the first printed %q", out)
	}
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	if first.Lines(`"exit":4,.*another coordinator has taken it over: run `+s.run+` is that of `+host+`, process \d+, epoch 2 after 1`) != 1 {
		t.Error("the first did not name the coordinator that took the run over")
	}
	s.view.eventually("the second has published tasks", func() bool { waiting, _ := s.view.tasks(); return waiting > 0 })
	work.open()
	s.coordinator.ExpectTotal(known(14))
	s.leftNothing()
}

// Several runs share a server and a worker: none waits until another is done, and the end
// of a cancelled run disturbs no other.
func TestRunsShareAWorker(t *testing.T) {
	long(t)
	cancelled := startScene(t, "14", "--depth", "3")
	share := func(count ...string) *scene {
		other := *cancelled
		other.count(count...)
		return &other
	}
	beside := share("14", "--depth", "3")
	work := startGated(t, beside.server.url, 1)
	work.during(func() {
		beside.progress(20)
		cancelled.progress(20)
		share("10", "--depth", "2").coordinator.ExpectTotal(known(10))
	})
	beside.expectSharing("1 worker", cancelled.run, "--data", beside.coordinator.Flag("--data"))
	beside.expectSharing("1 worker", cancelled.run, "--data", t.TempDir(), "--nats", beside.server.url)
	start(t, "coordinator", "cancel", cancelled.run, "--data", t.TempDir(), "--nats", beside.server.url).ExpectExit(0)
	cancelled.coordinator.ExpectExit(1)
	if cancelled.coordinator.Lines(`"exit":1,.*was cancelled`) != 1 {
		t.Error("the coordinator of the cancelled run did not log why it ended")
	}
	if n := beside.view.messages("NQ_TASKS", "nq.task."+cancelled.run); n != 0 {
		t.Errorf("%d tasks of the cancelled run remain", n)
	}
	const held = 2 // chunks by the worker, which may have counted them since
	if n := beside.view.messages("NQ_RESULTS", "nq.result."+cancelled.run); n > held {
		t.Errorf("%d results of the cancelled run remain", n)
	}
	if n := beside.view.messages("KV_nq_runs", "$KV.nq_runs."+cancelled.run); n != 0 {
		t.Error("the record of the cancelled run remains")
	}
	work.open()
	beside.coordinator.ExpectTotal(known(14))
}

// expectSharing waits until runs says, below the run of the scene, that it shares these workers with
// another run.
func (s *scene) expectSharing(workers, other string, args ...string) {
	s.t.Helper()
	line := regexp.MustCompile("(?m)^" + s.run + " .*\n(?:  .*\n)*  sharing " + workers + " with " + other + "$")
	s.view.eventually("runs says who shares the workers", func() bool {
		return line.MatchString(start(s.t, "coordinator", append([]string{"runs"}, args...)...).ExpectExit(0))
	})
}

// A complete run leaves nothing on the server: no message, no record and no consumer.
func TestCompleteRunLeavesNothing(t *testing.T) {
	t.Parallel()
	s := startScene(t, "12", "--depth", "2")
	worker := startWorker(t, s.server.url)
	s.coordinator.ExpectTotal(known(12))
	worker.Signal(syscall.SIGTERM)
	worker.ExpectExit(0)
	s.leftNothing()
}

// leftNothing checks that nothing of any run remains on the server.
func (s *scene) leftNothing() {
	s.t.Helper()
	for stream := range s.view.js.ListStreams(s.t.Context()).Info() {
		// A worker's acknowledgement of the last task may come after the total.
		s.view.eventually("stream "+stream.Config.Name+" is empty", func() bool { return s.view.messages(stream.Config.Name, ">") == 0 })
		s.view.noConsumers(stream.Config.Name)
	}
}

// noConsumers waits until a stream has no consumers. A busy server may not have removed that of a reader of
// results in time; then it removes it half a minute later.
func (v view) noConsumers(stream string) {
	v.t.Helper()
	handle, err := v.js.Stream(v.t.Context(), stream)
	if err != nil {
		v.t.Fatal(err)
	}
	v.eventually("stream "+stream+" has no consumers", func() bool {
		for range handle.ConsumerNames(v.t.Context()).Name() {
			return false
		}
		return true
	})
}
