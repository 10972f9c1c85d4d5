package report

import (
	"math/big"
	"testing"
	"time"

	"nqueens/pkg/run"
)

// The lines of the log for people.
func TestLines(t *testing.T) {
	s := &run.Snapshot{
		Run: "n18-a", N: 18, State: run.Running, Done: 131, Tasks: 748, WorkDone: 0.21, Rate: 98e6, Workers: 4, Threads: 8,
		ETA: eta(80*time.Second, 2*time.Minute), Elapsed: run.Seconds{Duration: 25 * time.Second},
	}
	with := func(change func(s *run.Snapshot)) *run.Snapshot {
		changed := *s
		change(&changed)
		return &changed
	}
	published := run.Confirmed{Level: run.Published}
	ended := &Result{
		N: 18, Run: "n18-a", Tasks: 748, Workers: 4, End: Complete, Total: decimal(666090624), Confirmed: published,
		Count: &Count{Snapshot: *s, Rate: 98e6},
	}
	stopped := &Result{N: 18, Run: "n18-a", End: Stopped, Count: &Count{Snapshot: *s}}
	for _, c := range []struct{ got, want string }{
		{progressLine(s), "21.0% 131/748 tasks  98.0 M/s  4 workers, 8 threads  1m20s to 2m left"},
		{progressLine(with(func(s *run.Snapshot) { s.Workers, s.Threads, s.ETA, s.Rate = 1, 1, nil, 0 })), "21.0% 131/748 tasks  0 /s  1 worker, 1 thread  estimating the time left"},
		{progressLine(with(func(s *run.Snapshot) { s.Workers, s.PausedWorkers, s.Threads = 2, 2, 0 })), "21.0% 131/748 tasks  98.0 M/s  2 workers (2 paused), 0 threads  waiting for workers"},
		{progressLine(with(func(s *run.Snapshot) { s.Workers, s.Threads = 0, 0 })), "21.0% 131/748 tasks  98.0 M/s  0 workers, 0 threads  waiting for workers"},
		{
			progressLine(with(func(s *run.Snapshot) { s.Done, s.WorkDone, s.Disputes = 748, 1, 2 })),
			"100.0% 748/748 tasks  98.0 M/s  4 workers, 8 threads  verifying the ledger  2 disputes",
		},
		{(&FleetChange{Joined: []string{"host-1"}, Threads: 2}).line(s), "worker joined: host-1, 2 threads; now 4 workers, 8 threads, 1m20s to 2m left"},
		{(&FleetChange{Lost: []string{"host-1"}}).line(s), "worker lost: host-1; now 4 workers, 8 threads, 1m20s to 2m left"},
		{
			(&FleetChange{Joined: []string{"a", "b", "c", "d", "e", "f"}, Threads: 12, Left: []string{"g"}}).line(s),
			"6 workers joined: a, b, c, d and 2 more, 12 threads; worker left: g; now 4 workers, 8 threads, 1m20s to 2m left",
		},
		{
			ended.endLine(),
			"666,090,624 solutions for n = 18, confirmed by the published total (OEIS A000170); run n18-a: 748 tasks in 25s, 98.0 M/s, 4 workers",
		},
		{stopped.endLine(), "run n18-a ended, stopped, at 21.0% 131/748 tasks"},
		{totalLine(big.NewInt(666090624), 18, 0, &published, "n18-a"), "666,090,624 solutions for n = 18, confirmed by the published total (OEIS A000170); run n18-a"},
		{stopped.StoppedText(s, "/data/n18-a", "coordinator resume n18-a"), `done so far:  21.0% 131/748 tasks
nothing lost: /data/n18-a has every counted task
time left:    1m20s to 2m with 8 threads
to resume:    coordinator resume n18-a
`},
	} {
		if c.got != c.want {
			t.Errorf("got  %s\nwant %s", c.got, c.want)
		}
	}
}

// Longer runs have fewer lines on their progress, but one an hour at least.
func TestProgressInterval(t *testing.T) {
	for elapsed, want := range map[time.Duration]time.Duration{
		0: 10 * time.Second, 4 * time.Minute: 10 * time.Second, 5 * time.Minute: 30 * time.Second, 10 * time.Minute: time.Minute,
		time.Hour: 6 * time.Minute, 9 * time.Hour: 54 * time.Minute, 1000 * time.Hour: time.Hour,
	} {
		if got := ProgressInterval(elapsed); got != want {
			t.Errorf("after %v: %v, want %v", elapsed, got, want)
		}
	}
}
