//go:build unix

package main_test

import (
	"context"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// fault causes one random fault.
func (s *soak) fault() {
	s.t.Helper()
	faults := []struct {
		name   string
		weight int
		do     func() (struck bool)
	}{
		{"worker killed", 4, s.killWorker},
		{"worker suspended or resumed", 4, s.stopWorker},
		{"coordinator killed", 4, s.killCoordinator},
		{"server of the cluster killed", 3, s.killNode},
		{"server of the cluster restarted", 5, s.restartNode},
		{"server killed", 2, func() bool { return s.killServer(false) }},
		{"server killed, store wiped", 1, func() bool { return s.killServer(true) }},
		{"deleted NQ_TASKS", 1, s.remove(func(ctx context.Context) error { return s.view.js.DeleteStream(ctx, "NQ_TASKS") })},
		{"deleted NQ_RESULTS", 1, s.remove(func(ctx context.Context) error { return s.view.js.DeleteStream(ctx, "NQ_RESULTS") })},
		{"deleted consumer", 2, s.remove(func(ctx context.Context) error {
			return s.view.js.DeleteConsumer(ctx, "NQ_TASKS", s.someRun())
		})},
		{"deleted bucket", 1, s.remove(func(ctx context.Context) error { return s.view.js.DeleteKeyValue(ctx, "nq_runs") })},
		{"garbage", 2, s.litter},
		{"results repeated", 2, s.repeat},
		{"backup", 3, s.backUpSome},
		{"rival started", 6, s.startRival},
		{"rival stopped", 5, s.stopRival},
		{"rival killed", 5, s.killRival},
		{"rival resumed", 6, s.resumeRival},
		{"cancellation of a rival", 5, s.cancelRival},
	}
	sum := 0
	for _, f := range faults {
		sum += f.weight
	}
	pick := s.rng.IntN(sum)
	for _, f := range faults {
		if pick -= f.weight; pick < 0 {
			if f.do() {
				s.struck[f.name]++
			}
			return
		}
	}
}

func (s *soak) killWorker() bool {
	s.t.Helper()
	i := s.rng.IntN(len(s.workers))
	s.checkWorkers()
	s.workers[i].Kill()
	s.workers[i] = s.worker(i)
	return true
}

func (s *soak) stopWorker() bool {
	s.t.Helper()
	w := s.workers[s.rng.IntN(len(s.workers))]
	if w.stopped {
		w.Signal(syscall.SIGCONT)
	} else {
		w.Signal(syscall.SIGSTOP)
	}
	w.stopped = !w.stopped
	return true
}

// killCoordinator kills the coordinator of the main run, and perhaps its successors in the
// middle of their start.
func (s *soak) killCoordinator() bool {
	s.t.Helper()
	for {
		_ = s.coordinator.Cmd.Process.Kill() // it may have ended by itself
		<-s.coordinator.Ended()
		if s.coordinator.ExitCode() >= 0 {
			return false // next checks how it ended
		}
		s.resume()
		if s.rng.IntN(3) > 0 {
			s.awaitRun()
			return true
		}
		elapse(s.t, time.Duration(s.rng.IntN(200))*time.Millisecond)
	}
}

// killNode kills a server of the cluster, unless one is dead already.
func (s *soak) killNode() bool {
	s.t.Helper()
	if s.cluster == nil || s.away != nil {
		return false
	}
	s.away = s.cluster.nodes[s.rng.IntN(len(s.cluster.nodes))]
	s.away.Kill()
	return true
}

// restartNode starts the server of the cluster that was killed, if there is one.
func (s *soak) restartNode() bool {
	s.t.Helper()
	if s.away == nil {
		return false
	}
	s.cluster.start(s.away)
	s.away = nil
	return true
}

func (s *soak) killServer(wiped bool) bool {
	s.t.Helper()
	if s.cluster != nil {
		return false
	}
	s.server.Kill()
	if wiped {
		s.wipe()
	}
	elapse(s.t, time.Duration(s.rng.IntN(500))*time.Millisecond)
	s.restartServer()
	return true
}

// remove deletes something on the server, if it exists.
func (s *soak) remove(remove func(ctx context.Context) error) func() bool {
	return func() bool {
		ctx, cancel := context.WithTimeout(s.t.Context(), time.Second)
		defer cancel()
		return remove(ctx) == nil
	}
}

// someRun returns the name of a run of the soak, or "" if it has none yet.
func (s *soak) someRun() string {
	names := []string{s.run}
	for _, r := range s.rivals {
		names = append(names, r.run)
	}
	return names[s.rng.IntN(len(names))]
}

// backUpSome backs the main run up, whatever its coordinator does. What is restored has at least what the
// ledger had when a coordinator last ended.
func (s *soak) backUpSome() bool {
	s.t.Helper()
	if s.run == "" {
		return false
	}
	file := filepath.Join(s.store, "..", "backup")
	s.backUp(file)
	if accepted, void := ledgerOf(s.t, s.restore(file), s.run); accepted+void < s.least[s.run] {
		s.t.Errorf("a backup of %s has %d tasks, and %d void, %d were accepted before", s.run, accepted, void, s.least[s.run])
	}
	return true
}

// litter publishes random bytes.
func (s *soak) litter() bool {
	garbage := make([]byte, s.rng.IntN(200))
	for i := range garbage {
		garbage[i] = byte(s.rng.Uint32())
	}
	for _, subject := range []string{"nq.task.", "nq.result.", "nq.hb.", "nq.live."} {
		if s.view.conn.Publish(subject+"n14-garbage", garbage) != nil || s.run != "" && s.view.conn.Publish(subject+s.run, garbage) != nil {
			return false
		}
	}
	return true
}

// repeat publishes some results of this run and earlier ones again.
func (s *soak) repeat() bool {
	if !s.view.conn.IsConnected() {
		return false
	}
	for _, m := range s.heard() {
		if strings.HasPrefix(m.Subject, "nq.result.") {
			s.results = append(s.results, m)
		}
	}
	if len(s.results) == 0 {
		return false
	}
	for range 100 {
		m := s.results[s.rng.IntN(len(s.results))]
		if s.view.conn.Publish(m.Subject, m.Data) != nil {
			return false
		}
	}
	return true
}
