package display

import (
	"fmt"
	"math"
	"math/big"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode"

	"nqueens/pkg/queens"
	"nqueens/pkg/testkit"
)

// text returns the lines as they are written to the terminal.
func text(lines []line, color bool) string {
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(l.render(color) + "\n")
	}
	return b.String()
}

func lasting(d time.Duration) queens.Seconds { return queens.Seconds{Duration: d} }

var now = time.Date(2026, 11, 26, 13, 0, 0, 0, time.UTC)

// underWay returns a snapshot of a run for n = 20 with four workers. One of them is idle.
func underWay() *queens.Snapshot {
	s := &queens.Snapshot{
		Run: "n20-20261120-170938-7274", N: 20, Method: queens.Prefixes, Symmetry: queens.Full,
		State: queens.Running,
		Done:  104, Tasks: 308, WorkDone: 0.264, Solutions: (*queens.Decimal)(big.NewInt(4130085116)),
		Checks:   new(queens.Checks),
		Elapsed:  lasting(20 * time.Second),
		TimeToGo: &queens.TimeToGo{Least: lasting(48 * time.Second), Most: lasting(65 * time.Second)},
		Rate:     &queens.Rate{PerSecond: 206435540},
		Live:     &queens.Live{Machines: 4, Workers: 4, Threads: 20, IdleThreads: 1},
		At:       now,
		WorkerList: []queens.Worker{
			{Machine: testkit.Machine("attic"), Label: "attic/3f02", Process: "3f02", Kernel: "generic",
				Threads: 1, Held: 0},
			{Machine: testkit.Machine("node-17"), Label: "node-17/a1b2", Process: "a1b2", Kernel: "avx512",
				Threads: 8, Rate: &queens.Rate{PerSecond: 1.524e9}, Held: 8, Longest: lasting(2 * time.Second)},
			{
				Machine: testkit.Machine("node-18"), Label: "node-18/0c9d", Process: "0c9d", Kernel: "avx512",
				Threads: 8, Rate: &queens.Rate{PerSecond: 9.87e8}, Held: 8,
				Longest: lasting(1500 * time.Millisecond),
			},
			{
				Machine: testkit.Machine("6b1e9c2a-8f0d-4a53-9d0e-1f2a3b4c5d6e"),
				Label:   "6b1e9c2a-8f0d-4a53-9d0e-1f2a3b4c5d6e/77aa", Process: "77aa", Kernel: "avx2",
				Threads: 3, Rate: &queens.Rate{PerSecond: 2.5e6}, Held: 1,
				Longest: lasting(95 * time.Second),
			},
		},
	}
	return s
}

// troubled returns the snapshot of underWay with everything that the display rarely shows.
func troubled() *queens.Snapshot {
	s := underWay()
	s.Disputes, s.Recounts, s.Placed = 1, 1, make([]queens.Square, 2)
	s.Waits = &queens.Wait{Reason: queens.NoServer, Since: now.Add(-12 * time.Second),
		Why: "nothing listens there"}
	s.Banned = []queens.Ban{{Machine: testkit.Machine("basement"), Task: 1234, Count: 5678,
		Recount: 5680}}
	s.WorkerList[0].LastSeen.Duration = 12 * time.Second
	return s
}

// ended returns a snapshot of the same run at its end.
func ended() *queens.Snapshot {
	s := underWay()
	s.State, s.Done, s.WorkDone, s.Total = queens.Complete, s.Tasks, 1,
		(*queens.Decimal)(big.NewInt(39029188884))
	s.Solutions, s.WorkerList, s.Workers, s.TimeToGo = s.Total, nil, 0, nil
	s.Elapsed.Duration = 4*time.Minute + 12*time.Second
	return s
}

// crowd returns the snapshot of underWay with many workers. It lists as many of them as a snapshot
// may list.
func crowd(workers int) *queens.Snapshot {
	s := underWay()
	s.Machines, s.Workers, s.Threads, s.WorkerList = workers, workers, 64*workers, nil
	for i := range min(workers, queens.MaxWorkers) {
		s.WorkerList = append(s.WorkerList, queens.Worker{
			Label: fmt.Sprintf("node-%04d", i), Process: "x", Kernel: "avx512", Threads: 64,
			Rate:    &queens.Rate{PerSecond: 8e9},
			Held:    64,
			Longest: lasting(time.Second),
		})
	}
	s.WorkerList[len(s.WorkerList)-1].Longest.Duration = time.Hour
	return s
}

// The display equals the golden files for each width of the terminal.
func TestLayoutMatchesGoldenFiles(t *testing.T) {
	usual := []int{60, 80, 120}
	beginning := &queens.Snapshot{
		Run: "n27-20261120-170938-7274", N: 27, Method: queens.Halves, Symmetry: queens.Full,
		State: queens.Running, Tasks: 12345678,
		Solutions: (*queens.Decimal)(new(big.Int)), Live: new(queens.Live), At: now,
		Waits: &queens.Wait{Reason: queens.NoWorkers, Since: now.Add(-time.Minute),
			Help: "worker --join /a/join.token"},
	}
	unknown := underWay()
	unknown.Live, unknown.Checks, unknown.Rate, unknown.TimeToGo = nil, nil, nil, nil
	unknown.WorkerList = nil
	for _, tt := range []struct {
		name   string
		s      *queens.Snapshot
		color  bool
		height int
		widths []int
	}{
		{"under-way", underWay(), false, 24, usual},
		{"colors", troubled(), true, 24, usual},
		{"troubled", troubled(), false, 24, []int{20, 40, 60, 80, 120}},
		{"ended", ended(), false, 24, usual},
		{"beginning", beginning, false, 24, usual},
		{"ledger", unknown, false, 24, usual},
		{"crowd", crowd(1000), false, 24, usual},
		{"low", crowd(12), false, 8, usual},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got strings.Builder
			for _, width := range tt.widths {
				fmt.Fprintf(&got, "-- %d columns --\n%s", width,
					text(layout(tt.s, width, tt.height, tt.color), tt.color))
			}
			testkit.Golden(t, filepath.Join("testdata", tt.name+".txt"), got.String())
		})
	}
}

// Only a complete run has a full bar and 100 percent.
func TestOnlyACompleteRunIsFull(t *testing.T) {
	for _, tt := range []struct {
		work        float64
		done, tasks uint64
		full        bool
	}{
		{0, 0, 10, false},
		{0.99999, 9, 10, false},
		{math.Nextafter(1, 0), 10, 10, true},
		{1, 9, 10, false},
		{7, 9, 10, false},
		{math.NaN(), 9, 10, false},
		{math.Inf(1), 9, 10, false},
		{-1, 0, 10, false},
		{1, 10, 10, true},
	} {
		s := &queens.Snapshot{State: queens.Running, WorkDone: queens.Fraction(tt.work), Done: tt.done,
			Tasks: tt.tasks}
		bar := text([]line{progressRow(s, 80, false)}, false)
		if strings.Contains(bar, strings.Repeat("█", 36)) != tt.full ||
			strings.Contains(bar, "100.0%") != tt.full {
			t.Errorf("%v of the work, %d of %d tasks: %s", tt.work, tt.done, tt.tasks, bar)
		}
	}
}

// The bar grows by eighths of a cell and keeps its length.
func TestBarGrowsByEighths(t *testing.T) {
	const width = 10
	seen := make(map[string]bool)
	for i := range 8*width + 1 {
		bar := text([]line{barOf(float64(i)/(8*width), i == 8*width, width, false)}, false)
		if seen[bar] || cells(strings.TrimSuffix(bar, "\n")) != width {
			t.Errorf("%d eighths of %d cells: %q", i, width, bar)
		}
		seen[bar] = true
	}
}

// The display leaves half of the rows to the log, or less if there are few, and says how many
// workers it does not show.
func TestLayoutLeavesHalfOfTheTerminal(t *testing.T) {
	more := regexp.MustCompile(`and ([0-9,]+) more workers?`)
	for _, workers := range []int{1, 2, 12, 256, 1000} {
		for height := 1; height < 100; height++ {
			lines := layout(crowd(workers), 80, height, false)
			if limit := max(1, min(max(3, height/2), height-1)); len(lines) > limit {
				t.Errorf("%d lines of %d, at most %d", len(lines), height, limit)
			}
			shown := text(lines, false)
			named := strings.Count(shown, "  node-")
			hidden := 0
			if m := more.FindStringSubmatch(shown); m != nil {
				if _, err := fmt.Sscan(strings.ReplaceAll(m[1], ",", ""), &hidden); err != nil {
					t.Fatal(err)
				}
			}
			if named > 0 && named+hidden != workers {
				t.Errorf("%d rows: %d workers named and %d counted of %d:\n%s", height, named, hidden, workers,
					shown)
			}
		}
	}
}

// For any snapshot and any size of the terminal, no line is too wide, there are not too many lines,
// and each character takes one cell.
func FuzzLayout(f *testing.F) {
	f.Add("n20-20261120-170938-7274", "node-1", "", 0.5, 1e8, uint64(104), int64(time.Minute), 80, 24,
		3, byte(0))
	f.Add("\x1b]0;title\a\x1b[2J\x9b5A", "\r\n\t\x00\u202e\u200b", "\x1b[?25l",
		-1.0, math.Inf(1), uint64(math.MaxUint64), int64(-1), 20, 5, 300, byte(1))
	f.Add(strings.Repeat("名前", 300), "👩‍👩‍👧🏽é\ufe0f\xff\xfe", strings.Repeat("\u0301", 500),
		math.NaN(), math.NaN(), uint64(0), int64(math.MaxInt64), 200, 60, 40, byte(2))
	f.Add("", "", "", 0.0, 0.0, uint64(0), int64(0), 1, 1, 0, byte(3))
	f.Add("🇩🇪🇫", "a\u0301", "1\ufe0f\u20e3", 1.0, 1e300, uint64(9), int64(math.MinInt64), 40, 30, 9,
		byte(7))
	sequence := regexp.MustCompile("\x1b\\[[0-9;]*m")
	f.Fuzz(func(t *testing.T, id, name, note string, work, rate float64, number uint64, age int64,
		width, height, workers int, kind byte) {
		// as decoders do
		id, name, note = queens.Sanitize(id), queens.Sanitize(name), queens.Sanitize(note)
		width, height, workers = 1+abs(width)%250, 1+abs(height)%100, abs(workers)%400
		s := &queens.Snapshot{
			Run: id, N: int(number % 33), Symmetry: queens.Symmetry(name), State: queens.State(note),
			Placed: make([]queens.Square, kind),
			Done:   number, Tasks: number / 3, WorkDone: queens.Fraction(work),
			Elapsed: lasting(time.Duration(age)),
			TimeToGo: &queens.TimeToGo{Least: lasting(time.Duration(age / 2)),
				Most: lasting(time.Duration(age))},
			Rate: &queens.Rate{PerSecond: rate},
			Live: &queens.Live{Workers: workers, Threads: int(number % 1e9),
				IdleThreads: int(kind)},
			Checks: &queens.Checks{Recounting: number % 2, Disputes: uint64(kind),
				Banned: make([]queens.Ban, kind%3)},
			Waits: &queens.Wait{Reason: queens.NoServer, Why: note, Help: name},
		}
		if kind&1 == 0 {
			s.Solutions = (*queens.Decimal)(new(big.Int).Lsh(big.NewInt(age), uint(kind)))
		}
		for i := range min(workers, queens.MaxWorkers) {
			s.WorkerList = append(s.WorkerList, queens.Worker{
				Label: name[min(i, len(name)):] + "/" + id, Process: id, Kernel: id, Threads: i * i,
				Rate: &queens.Rate{PerSecond: rate / float64(i)},
				Held: uint64(i % 3), Longest: lasting(time.Duration(age / int64(i+1))),
			})
		}
		if kind&4 == 0 {
			s.Live, s.Checks, s.Waits, s.WorkerList = nil, nil, nil, nil
		}
		color := kind&2 != 0
		lines := layout(s, width, height, color)
		if limit := max(1, min(max(3, height/2), height-1)); len(lines) > limit {
			t.Errorf("%d lines in a terminal of %d rows", len(lines), height)
		}
		for _, painted := range strings.SplitAfter(text(lines, color), "\n") {
			shown := sequence.ReplaceAllString(strings.TrimSuffix(painted, "\n"), "")
			if cells(shown) > width {
				t.Errorf("%q takes up %d cells of %d", shown, cells(shown), width)
			}
			for _, r := range shown {
				if !unicode.IsPrint(r) {
					t.Errorf("%q has %q", shown, r)
				}
			}
		}
	})
}

func abs(i int) int { return max(i, -max(i, -math.MaxInt)) }

// For each reason to wait, the display says the reason, for how long, and what would help.
func TestEveryWaitIsShown(t *testing.T) {
	for _, reason := range queens.Reasons() {
		s := underWay()
		s.Waits = &queens.Wait{Reason: reason, Since: s.At.Add(-12 * time.Second)}
		shown := text(layout(s, 100, 24, false), false)
		if !strings.Contains(shown, s.Waits.Text()+" for 12s") ||
			!strings.Contains(shown, s.Waits.Advice()) {
			t.Errorf("%s is not shown:\n%s", reason, shown)
		}
	}
}
