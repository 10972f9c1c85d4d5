package page

import (
	"fmt"
	"math"
	"strings"
	"time"

	"nqueens/pkg/humanize"
	"nqueens/pkg/progress"
)

// chart shows the rate of a run over the time that coordinators have worked on it. It is as wide as
// the page. Horizontal positions are percentages, so that labels have the same size on every
// screen.
type chart struct {
	Path        string // outline of the area below the rate, on 1000 by 100 units
	Rows        []mark // lines of the grid, from the bottom
	Ticks       []mark // marks on the time axis
	Description string
}

// mark is a line of the grid with its label, at a percentage of the height or the width.
type mark struct{ At, Label string }

const fewestSteps, maxSteps = 3, 150 // of the path

// newChart returns the chart of a history, or nil if there are too few points, or no solutions.
func newChart(points []progress.Point) *chart {
	every := (len(points)-1)/maxSteps + 1
	var times []time.Duration
	var rates []float64
	most := 0.0
	var from progress.Point
	for i, to := range points {
		seconds := (to.Elapsed - from.Elapsed).Seconds()
		switch {
		case i == 0:
			from = to
			times = append(times, to.Elapsed)
		case (i%every == 0 || i == len(points)-1) && seconds >= 0.5:
			rates = append(rates, max(0, to.Solutions-from.Solutions)/seconds)
			times = append(times, to.Elapsed)
			most = max(most, rates[len(rates)-1])
			from = to
		}
	}
	if len(rates) < fewestSteps || !(most > 0 && most < 1e30) {
		return nil
	}
	begin, end := times[0], times[len(rates)]
	x := func(t time.Duration) float64 { return float64(t-begin) / float64(end-begin) }
	rows, top := grid(most)
	var path strings.Builder
	path.WriteString("M0 100")
	for i, rate := range rates {
		fmt.Fprintf(&path, "V%.1fH%.1f", 100-100*rate/top, 1000*x(times[i+1]))
	}
	path.WriteString("V100Z")
	c := &chart{Path: path.String(), Rows: rows}
	step := timeStep(end - begin)
	// the last label is not at the edge
	for t := (begin + step - 1).Truncate(step); t <= end-step/4; t += step {
		c.Ticks = append(c.Ticks, mark{fmt.Sprintf("%.2f%%", 100*x(t)), humanize.Clock(t)})
	}
	c.Description = fmt.Sprintf("Solutions per second from %s to %s of the run: at most %s, now %s.",
		humanize.Clock(begin), humanize.Clock(end), humanize.Rate(most),
		humanize.Rate(rates[len(rates)-1]))
	return c
}

// grid returns lines at round rates, and the rate at the top. The last line is at the greatest rate
// or above it.
func grid(most float64) (rows []mark, top float64) {
	power := math.Pow(10, math.Floor(math.Log10(most/3)))
	step := 10 * power
	for _, factor := range []float64{5, 2, 1} {
		if most/(factor*power) <= 4 {
			step = factor * power
		}
	}
	steps := int(math.Ceil(most/step - 1e-9))
	for i := 1; i <= steps; i++ {
		rows = append(rows, mark{fmt.Sprintf("%.2f%%", 100-100*float64(i)/float64(steps)),
			humanize.Rate(step * float64(i))})
	}
	return rows, step * float64(steps)
}

// timeStep returns a round time between two marks. At most five such steps fit into the length.
func timeStep(length time.Duration) time.Duration {
	for _, seconds := range []int64{1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200,
		14400, 21600, 43200, 86400,
		172800, 432000, 864000, 1728000, 4320000} {
		if step := time.Duration(seconds) * time.Second; length <= 5*step {
			return step
		}
	}
	return length / 4
}
