//go:build unix

package main_test

import (
	"path/filepath"
	"syscall"
	"time"

	"nqueens/pkg/cli/clitest"
	"nqueens/pkg/ledger"
	"nqueens/pkg/run"
)

// rival is a short run beside the main run of a soak, with a data folder of its own. It ends with its
// exact total, whatever stops it in between, or it is cancelled.
type rival struct {
	soakRun
	cancel      *clitest.Process // not nil while a process cancels it
	asked       bool             // cancel was started
	signalled   bool             // the coordinator got a signal
	interrupted bool             // the coordinator has ended, and the run has not
}

// maxRivals is how many rivals there are at once.
const maxRivals = 2

func (s *soak) startRival() bool {
	s.t.Helper()
	if len(s.rivals) == maxRivals {
		return false
	}
	r := &rival{soakRun: newSoakRun(s.scene, s.rng)}
	r.connect, r.flags = s.connect, s.flags
	s.rivals = append(s.rivals, r)
	var flags []string
	if s.rng.IntN(2) == 0 {
		flags = []string{"--depth", "3"}
	}
	r.count(13+s.rng.IntN(3), flags...)
	s.letStart(r)
	return true
}

func (s *soak) resumeRival() bool {
	s.t.Helper()
	r := s.someRival(func(r *rival) bool { return r.interrupted && r.cancel == nil })
	if r == nil {
		return false
	}
	r.restart()
	s.letStart(r)
	return true
}

// letStart waits until a rival has its run, or interrupts it in the middle of its start.
func (s *soak) letStart(r *rival) {
	s.t.Helper()
	if s.rng.IntN(3) > 0 {
		r.awaitRun()
		return
	}
	elapse(s.t, time.Duration(s.rng.IntN(200))*time.Millisecond)
	name, signal := "rival stopped", syscall.SIGINT
	if s.rng.IntN(2) == 0 {
		name, signal = "rival killed", syscall.SIGKILL
	}
	if r.signal(signal) {
		s.struck[name]++
	}
}

func (s *soak) stopRival() bool {
	r := s.someRival((*rival).isCounting)
	return r != nil && r.signal(syscall.SIGINT)
}

func (s *soak) killRival() bool {
	r := s.someRival((*rival).isCounting)
	return r != nil && r.signal(syscall.SIGKILL)
}

// cancelRival starts to cancel a rival that counts or is interrupted.
func (s *soak) cancelRival() bool {
	s.t.Helper()
	r := s.someRival(func(r *rival) bool { return r.run != "" && r.cancel == nil })
	if r == nil {
		return false
	}
	args := []string{"cancel", r.run, "--data", r.coordinator.Flag("--data")}
	if s.rng.IntN(2) == 0 {
		args = append(args, s.connect...)
	}
	r.asked = true
	r.cancel = start(s.t, "coordinator", args...)
	return true
}

// someRival returns one of the rivals for which the condition holds, or nil.
func (s *soak) someRival(holds func(r *rival) bool) *rival {
	var fit []*rival
	for _, r := range s.rivals {
		if holds(r) {
			fit = append(fit, r)
		}
	}
	if len(fit) == 0 {
		return nil
	}
	return fit[s.rng.IntN(len(fit))]
}

// checkRivals checks how rivals ended, and forgets those that are over.
func (s *soak) checkRivals() {
	s.t.Helper()
	var remaining []*rival
	for _, r := range s.rivals {
		if !s.isOver(r) {
			remaining = append(remaining, r)
		}
	}
	s.rivals = remaining
}

// isOver checks how a rival's processes ended, and reports whether the rival can't be resumed.
func (s *soak) isOver(r *rival) bool {
	s.t.Helper()
	if !r.coordinator.HasEnded() || r.cancel != nil && !r.cancel.HasEnded() || r.cancel == nil && r.interrupted {
		return false
	}
	code := r.coordinator.ExitCode()
	if cancel := r.cancel; cancel != nil {
		r.cancel = nil
		if cancel.ExitCode() == 0 {
			if code == 0 {
				s.t.Fatalf("run %s was cancelled after it had its total", r.run)
			}
			s.expectCancelled(r)
			return true
		}
		if cancel.Lines("complete already") == 0 { // the server may be away
			s.t.Logf("run %s was not cancelled: %s", r.run, cancel.Log())
		}
	}
	switch {
	case code == 0:
		r.coordinator.ExpectTotal(known(r.n))
		s.exactRivals++
		return true
	case s.hostile.hasEnded(&r.soakRun):
		return true
	case code == 1 && r.asked:
		s.expectCancelled(r)
		return true
	case r.interrupted: // and not cancelled since
	case r.couldNotStart():
		s.struck["rival without a server"]++
	case code == 4:
		r.expectIncomplete()
		s.struck["incomplete rival"]++
	case r.signalled && (code == -1 || code == 128+int(syscall.SIGINT)):
		if out := r.coordinator.Stdout(); out != "" && out != known(r.n)+"\n" { // just before the signal
			s.t.Fatalf("a coordinator that was interrupted printed %q", out)
		}
	default:
		s.t.Fatalf("the coordinator of a rival ended with exit code %d", code)
	}
	r.interrupted = true
	return false
}

// expectCancelled checks that a rival, whose coordinator has ended, is cancelled for good.
func (s *soak) expectCancelled(r *rival) {
	s.t.Helper()
	l, err := ledger.OpenReadOnly(filepath.Join(r.coordinator.Flag("--data"), r.run))
	if err != nil {
		s.t.Fatal(err)
	}
	state := l.State()
	if err := l.Close(); err != nil {
		s.t.Fatal(err)
	}
	if out := r.coordinator.Stdout(); out != "" || state != run.Cancelled {
		s.t.Fatalf("run %s is %s and its coordinator printed %q, want a cancelled run and nothing", r.run, state, out)
	}
	s.struck["rival cancelled"]++
}

// resumeRivals resumes all rivals that are interrupted.
func (s *soak) resumeRivals() {
	s.t.Helper()
	for _, r := range s.rivals {
		if r.interrupted && r.cancel == nil {
			r.restart()
			r.awaitRun()
		}
	}
}

// endRivals resumes all rivals until they are over.
func (s *soak) endRivals() {
	s.t.Helper()
	for resumed := 0; len(s.rivals) > 0; resumed++ {
		if resumed > 3 {
			s.t.Fatalf("%d rivals were incomplete %d times without faults", len(s.rivals), resumed)
		}
		for _, r := range s.rivals {
			for _, p := range []*clitest.Process{r.cancel, r.coordinator} {
				if p != nil {
					p.AwaitEndOr("its end", func() bool { return false })
				}
			}
		}
		s.checkRivals()
		s.resumeRivals()
	}
}

// isCounting reports whether the coordinator is running, and was not told to stop.
func (r *rival) isCounting() bool { return !r.coordinator.HasEnded() && !r.signalled }

// restart starts another coordinator after the last one was interrupted.
func (r *rival) restart() {
	r.t.Helper()
	r.interrupted, r.signalled = false, false
	r.resume()
}

// signal sends a signal that ends the coordinator, unless it has ended.
func (r *rival) signal(signal syscall.Signal) bool {
	r.signalled = true
	return r.coordinator.Cmd.Process.Signal(signal) == nil
}
