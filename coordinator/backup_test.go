//go:build unix

package main_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

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
	for _, otherServer := range testkit.Sample(t, 1, []bool{false, true}) {
		name := "same server"
		if otherServer {
			name = "other server"
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := startScene(t, "14", "--depth", "4")
			work := startGated(t, s.server.url, 1)
			file, saved := filepath.Join(t.TempDir(), "backup"), 0
			work.during(func() {
				for backups := 0; backups < 5 || saved == 0; backups++ {
					now := s.backUp(file)
					if now < saved {
						t.Errorf("a backup has %d tasks, the one before had %d", now, saved)
					}
					saved = now
				}
			})
			s.coordinator.Kill()
			if err := os.RemoveAll(s.coordinator.Flag("--data")); err != nil {
				t.Fatal(err)
			}
			if otherServer {
				s.server = startServer(t)
				work = startGated(t, s.server.url, 1)
			}
			data := s.restore(file)
			s.coordinator = start(t, "coordinator", "resume", s.run, "--take-over", "--data", data, "--nats", s.server.url)
			s.coordinator.Await(counting)
			if done := s.coordinator.Field("counting", "done"); done != saved {
				t.Errorf("the run resumes with %d tasks, the backup has %d", done, saved)
			}
			work.open()
			s.coordinator.ExpectTotal(known(14))
		})
	}
}

// While the coordinator of a run works, a restored copy of the ledger does not take the run over by itself. If a
// person has it taken over, the first coordinator says which one has the run, and ends.
func TestRestoredCopyOfAnActiveRun(t *testing.T) {
	long(t)
	s := startScene(t, "14", "--depth", "4")
	b := join(t, s.server.url)
	file := filepath.Join(t.TempDir(), "backup")
	saved := s.backUp(file)
	work := startGated(t, s.server.url, 1)
	first := s.coordinator
	work.during(func() {
		s.view.eventually("the run's record has newer results", func() bool {
			record, err := b.Registry().Record(t.Context(), s.run)
			return err == nil && record.Done > uint64(saved)
		})
	})
	data := s.restore(file)
	second := start(t, "coordinator", "resume", s.run, "--data", data, "--nats", s.server.url)
	second.ExpectExit(1)
	if second.Lines(`"exit":1,.*is active: .*the ledger here has only .*--take-over`) != 1 {
		t.Error("the error does not say that another coordinator has a newer ledger, and what to do")
	}
	s.coordinator = start(t, "coordinator", "resume", s.run, "--take-over", "--data", data, "--nats", s.server.url)
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
	work.open()
	s.coordinator.ExpectTotal(known(14))
	s.leftNothing()
}
