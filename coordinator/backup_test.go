//go:build unix

package main_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"nqueens/pkg/ledger"
	"nqueens/pkg/testkit"
)

// backUp backs the scene's run up, and returns how many tasks the backup has.
func (s *scene) backUp(file string) int {
	s.t.Helper()
	out := start(s.t, "coordinator", "backup", s.run, file, "--data", s.coordinator.Flag("--data")).ExpectExit(0)
	m := regexp.MustCompile(`^run ` + s.run + `: (\d+) of \d+ tasks, .* in ` + file + `\n$`).FindStringSubmatch(out)
	if m == nil {
		s.t.Fatalf("backup prints %q", out)
	}
	done, _ := strconv.Atoi(m[1])
	return done
}

// restore restores the scene's run from a backup into a new folder, and returns the folder.
func (s *scene) restore(file string) string {
	s.t.Helper()
	data := filepath.Join(s.t.TempDir(), "restored")
	start(s.t, "coordinator", "restore", file, "--data", data).ExpectExit(0)
	return data
}

// A run whose machine is lost continues elsewhere from its last backup, to the exact total: with the
// same server, or with another one.
func TestRunGoesOnFromABackup(t *testing.T) {
	long(t)
	const tasks = 1118
	for _, otherServer := range testkit.Sample(t, 1, []bool{false, true}) {
		name := "same server"
		if otherServer {
			name = "other server"
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := startScene(t, "16", "--depth", "3")
			brake(t, join(t, s.server.url), s.run) // it can't end
			worker := startWorker(t, s.server.url)
			file, saved := filepath.Join(t.TempDir(), "backup"), 0
			for backups := 0; backups < 10 || saved == 0; backups++ {
				now := s.backUp(file)
				if now < saved {
					t.Errorf("a backup has %d tasks, the one before had %d", now, saved)
				}
				saved = now
			}
			if saved == tasks {
				t.Fatal("the last backup has all tasks: it shows nothing")
			}
			s.coordinator.Kill()
			if err := os.RemoveAll(s.coordinator.Flag("--data")); err != nil {
				t.Fatal(err)
			}
			if otherServer {
				worker.Kill()
				s.server = startServer(t)
			}
			startWorker(t, s.server.url, "--kernel", "auto")
			data := s.restore(file)
			s.coordinator = start(t, "coordinator", "resume", s.run, "--take-over", "--data", data, "--nats", s.server.url)
			s.coordinator.Await(counting)
			if done := s.coordinator.Field("counting", "done"); done != saved {
				t.Errorf("the run resumes with %d tasks, the backup has %d", done, saved)
			}
			s.coordinator.ExpectTotal(known(16))
		})
	}
}

// While the coordinator of a run works, a restored copy of the ledger does not take the run over
// by itself.
func TestRestoredCopyOfAnActiveRun(t *testing.T) {
	long(t)
	s := startScene(t, "15", "--depth", "3")
	b := join(t, s.server.url)
	release := brake(t, b, s.run) // it can't end
	file := filepath.Join(t.TempDir(), "backup")
	saved := s.backUp(file)
	worker := startWorker(t, s.server.url)
	first := s.coordinator
	s.view.eventually("the run's record has newer results", func() bool {
		record, err := b.Registry().Record(t.Context(), s.run)
		return err == nil && record.Done > uint64(saved)
	})
	data := s.restore(file)
	second := start(t, "coordinator", "resume", s.run, "--data", data, "--nats", s.server.url)
	second.ExpectExit(1)
	if second.Lines(`"exit":1,.*is active: .*the ledger here has only .*--take-over`) != 1 {
		t.Error("the error does not say that another coordinator has a newer ledger, and what to do")
	}
	worker.Kill() // the second coordinator publishes the held task again, and either could end the run
	s.coordinator = start(t, "coordinator", "resume", s.run, "--take-over", "--data", data, "--nats", s.server.url)
	first.ExpectExit(4)
	release()
	startWorker(t, s.server.url, "--kernel", "auto")
	s.coordinator.ExpectTotal(known(15))
}

// A coordinator was killed after it had found a liar, before it told the server that results are void. Its
// ledger has fewer results than the run's record says, and is still the newest: the run is resumed at once.
func TestResumedAtOnceAfterAQuarantine(t *testing.T) {
	long(t)
	s, _ := startVoided(t)
	startWorker(t, s.server.url, "--kernel", "auto", "--identity", filepath.Join(t.TempDir(), "another.key"))
	s.coordinator.ExpectTotal(known(14))
}

// While the coordinator of a run works that has had a quarantine, a restored copy of the ledger does not take
// the run over, though it has lost more results than the coordinator has found since.
func TestRestoredCopyAfterAQuarantine(t *testing.T) {
	long(t)
	s, done := startVoided(t)
	s.coordinator.Await(counting)
	file := filepath.Join(t.TempDir(), "backup")
	saved := s.backUp(file)
	release := brake(t, join(t, s.server.url), s.run) // it can't end
	startWorker(t, s.server.url, "--identity", filepath.Join(t.TempDir(), "another.key"))
	s.view.eventually("the run's record has newer results", func() bool { return done() > uint64(saved) })
	second := start(t, "coordinator", "resume", s.run, "--data", s.restore(file), "--nats", s.server.url)
	second.ExpectExit(1)
	if second.Lines(`"exit":1,.*is active: .*the ledger here has only `+fmt.Sprint(saved)+`: .*--take-over`) != 1 {
		t.Error("the error does not say that another coordinator has a newer ledger, and what to do")
	}
	release()
	startWorker(t, s.server.url, "--kernel", "auto", "--identity", filepath.Join(t.TempDir(), "third.key"))
	s.coordinator.ExpectTotal(known(14))
}

// startVoided starts a run whose coordinator and worker are killed, voids what the worker has counted, and starts
// another coordinator. done returns the number of tasks in the run's record.
func startVoided(t *testing.T) (s *scene, done func() uint64) {
	t.Helper()
	s = startScene(t, "14", "--depth", "3")
	b := join(t, s.server.url)
	done = func() uint64 {
		record, err := b.Registry().Record(t.Context(), s.run)
		if err != nil {
			return 0
		}
		return record.Done
	}
	release := brake(t, b, s.run) // it can't end
	worker := startWorker(t, s.server.url)
	s.view.eventually("the run's record has results", func() bool { return done() > 100 })
	s.coordinator.Kill()
	worker.Kill()
	release()
	data := s.coordinator.Flag("--data")
	voidAll(t, filepath.Join(data, s.run))
	s.coordinator = start(t, "coordinator", "resume", s.run, "--data", data, "--nats", s.server.url)
	return s, done
}

// voidAll quarantines the keys of all results of a ledger, and voids what they have counted.
func voidAll(t *testing.T, folder string) {
	t.Helper()
	l, err := ledger.Open(t.Context(), folder)
	if err != nil {
		t.Fatal(err)
	}
	keys := make(map[string]struct{})
	for r, err := range l.All() {
		if err != nil {
			t.Fatal(err)
		}
		keys[r.Key] = struct{}{}
	}
	for key := range keys {
		if err := l.Quarantine(ledger.Quarantined{Key: key}); err != nil {
			t.Fatal(err)
		}
	}
	for more := true; more; {
		if _, more, err = l.Void(); err != nil {
			t.Fatal(err)
		}
	}
	if l.Lost() <= l.Len() { // the coordinator's own counts stay
		t.Fatalf("%d results are left, %d are lost", l.Len(), l.Lost())
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}
