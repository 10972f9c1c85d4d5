package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"nqueens/pkg/humanize"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
)

// Charts are as wide as the page. So horizontal measures are percentages of the width, and vertical ones
// pixels: letters have the same size on each screen.

const (
	plotTop    = 18  // of the highest bar, with room for a label above it
	plotHeight = 160 // of the highest bar
	plotBottom = plotTop + plotHeight
)

// bar is a rectangle that stands on the bottom of the plot.
type bar struct{ X, Width, Y, Height string }

// line is a line of the grid or a mark, with its label.
type line struct {
	At, Label   string
	Top, Anchor string // of a mark: how high it is, and on which side of it the label begins
}

// percent formats a percentage as a measure.
func percent(p float64) string { return strconv.FormatFloat(p, 'f', 3, 64) + "%" }

// pixels formats a vertical measure.
func pixels(y float64) string { return strconv.FormatFloat(y, 'f', 1, 64) }

// newBar returns a bar from left to right, in percent, of a height from 0 to 1.
func newBar(left, right, height float64) bar {
	return bar{percent(left), percent(right - left), pixels(plotBottom - height*plotHeight), pixels(height * plotHeight)}
}

// grid returns horizontal lines at round values up to a maximum, and the greatest value of the plot.
func grid(most float64, format func(float64) string) (lines []line, top float64) {
	step := roundUp(most / 4)
	steps := int(math.Ceil(most / step))
	for i := range steps {
		share := float64(i+1) / float64(steps)
		lines = append(lines, line{At: pixels(plotBottom - share*plotHeight), Label: format(share * step * float64(steps))})
	}
	return lines, step * float64(steps)
}

// roundUp returns the least 1, 2 or 5 times a power of ten that is not less than x.
func roundUp(x float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(x)))
	for _, factor := range []float64{1, 2, 5} {
		if factor*power >= x*0.9999 {
			return factor * power
		}
	}
	return 10 * power
}

// throughputChart is the rate of a run over the time that its coordinators counted.
type throughputChart struct {
	Description string
	Bars        []bar
	Grid, Ticks []line
	Mean        string // height of the mean
	Threads     string
}

// newThroughputChart returns nil without enough samples.
func newThroughputChart(history []run.Sample) *throughputChart {
	const fewest = 4
	if len(history) < fewest {
		return nil
	}
	begin, end := history[0].From, history[len(history)-1].To
	rates := make([]float64, len(history))
	most, low, threads, fewestThreads, found := 0.0, math.Inf(1), 0.0, math.Inf(1), 0.0
	for i := range history {
		s := &history[i]
		rates[i] = s.Solutions / (s.To - s.From).Seconds()
		most, low = max(most, rates[i]), min(low, rates[i])
		threads, fewestThreads = max(threads, s.Threads), min(fewestThreads, s.Threads)
		found += s.Solutions
	}
	mean := found / (end - begin).Seconds()
	const nothing, tooMuch = 1e-6, 1e30 // solutions a second
	if !(most > nothing && most < tooMuch) || end <= begin {
		return nil
	}
	c := &throughputChart{Threads: humanize.Range(int(math.Round(fewestThreads)), int(math.Round(threads)), humanize.Int[int])}
	var top float64
	c.Grid, top = grid(most, humanize.Rate)
	at := func(t time.Duration) float64 { return 100 * float64(t-begin) / float64(end-begin) }
	for i := range history {
		c.Bars = append(c.Bars, newBar(at(history[i].From), at(history[i].To), rates[i]/top))
	}
	c.Mean = pixels(plotBottom - mean/top*plotHeight)
	step := timeStep(end - begin)
	for t := begin.Truncate(step); t <= end-step/10; t += step { // the last is not at the edge
		if t >= begin {
			c.Ticks = append(c.Ticks, line{At: percent(at(t)), Label: humanize.Clock(t)})
		}
	}
	c.Description = fmt.Sprintf("Solutions per second while a coordinator worked on the run, from %s to %s: between %s and %s, in the mean %s.",
		humanize.Clock(begin), humanize.Clock(end), humanize.Rate(low), humanize.Rate(most), humanize.Rate(mean))
	return c
}

// timeStep returns a round time between the ticks of an axis: at most six fit.
func timeStep(length time.Duration) time.Duration {
	const minute, hour, day = 60, 3600, 24 * 3600 // in seconds
	for _, seconds := range []int64{
		1, 2, 5, 10, 20, 30, minute, 2 * minute, 5 * minute, 10 * minute, 20 * minute, 30 * minute,
		hour, 2 * hour, 4 * hour, 6 * hour, 12 * hour, day, 2 * day, 5 * day, 10 * day, 20 * day, 50 * day, 100 * day,
	} {
		if step := time.Duration(seconds) * time.Second; length <= 6*step {
			return step
		}
	}
	return length / 4
}

// timesChart is a histogram of the times of tasks, over a logarithmic axis.
type timesChart struct {
	Description        string
	Bars               []bar
	Grid, Ticks, Marks []line
	Quantiles          []fact
}

// timeCount is a number as the divisor of a duration.
func timeCount(n uint64) time.Duration { return time.Duration(min(n, math.MaxInt64)) }

// newTimesChart returns nil without tasks.
func newTimesChart(t *run.TaskTimes) *timesChart {
	if t.Tasks == 0 {
		return nil
	}
	c := &timesChart{Quantiles: []fact{
		{"mean", shortTime(t.Total / timeCount(t.Tasks)), ""},
		{"median", shortTime(t.Quantile(0.5)), ""},
		{"p90", shortTime(t.Quantile(0.9)), ""},
		{"p99", shortTime(t.Quantile(0.99)), ""},
		{"longest", shortTime(t.Max), ""},
	}}
	bins, first, width := binned(t)
	most := uint64(0)
	for _, n := range bins {
		most = max(most, n)
	}
	var top float64
	c.Grid, top = grid(float64(most), humanize.Approx)
	if top < 4 { // no fractions of tasks
		c.Grid, top = []line{{At: pixels(plotTop), Label: fmt.Sprint(most)}}, float64(most)
	}
	for i, n := range bins {
		if n > 0 {
			c.Bars = append(c.Bars, newBar(100*float64(i)/float64(len(bins)), 100*float64(i+1)/float64(len(bins)), float64(n)/top))
		}
	}
	decades := float64(len(bins)*width) / run.BucketsPerDecade
	begin := float64(first) / run.BucketsPerDecade // power of ten
	at := func(d time.Duration) float64 { return 100 * (math.Log10(float64(max(d, 1))) - begin) / decades }
	c.Ticks = timeTicks(begin, decades)
	for i, share := range []float64{0.5, 0.9, 0.99} {
		label := []string{"median", "p90", "p99"}[i]
		x := min(max(at(t.Quantile(share)), 0), 100)
		mark := line{At: percent(x), Label: label, Anchor: "start", Top: pixels(float64(13 * i))} // below each other: they may be close
		if x > 80 {
			mark.Anchor = "end"
		}
		c.Marks = append(c.Marks, mark)
	}
	c.Description = fmt.Sprintf("Times of %s: half took up to %s, 90%% up to %s, 99%% up to %s, the longest %s.",
		humanize.Plural(t.Tasks, "task"), c.Quantiles[1].Value, c.Quantiles[2].Value, c.Quantiles[3].Value, c.Quantiles[4].Value)
	return c
}

// binned merges the buckets into bins of the same width, in buckets, few enough for a chart. The first bin
// begins with the bucket first.
func binned(t *run.TaskTimes) (bins []uint64, first, width int) {
	last := 0
	first = -1
	for i, n := range t.Counts {
		if n > 0 {
			if first < 0 {
				first = i
			}
			last = i
		}
	}
	const mostBins = 48
	for _, width = range []int{5, 10, 20, 50} {
		if (last-first)/width < mostBins-1 {
			break
		}
	}
	first -= first % width
	bins = make([]uint64, max((last-first)/width+1, run.BucketsPerDecade/width))
	for i := first; i <= last; i++ {
		bins[(i-first)/width] += t.Counts[i]
	}
	return bins, first, width
}

// timeTicks returns labels of a logarithmic axis of so many decades that begins with a power of ten of
// nanoseconds: of powers of ten, and of 2 and 5 times these on a short axis.
func timeTicks(begin, decades float64) (ticks []line) {
	factors := []int{1}
	if decades < 2.5 {
		factors = []int{1, 2, 5}
	}
	every := int(decades)/7 + 1
	for power := int(math.Floor(begin)); float64(power) <= begin+decades; power += every {
		for _, factor := range factors {
			at := 100 * (float64(power) + math.Log10(float64(factor)) - begin) / decades
			if at >= 0 && at <= 100 {
				ticks = append(ticks, line{At: percent(at), Label: tickLabel(power, factor)})
			}
		}
	}
	return ticks
}

// tickLabel formats a factor times a power of ten of nanoseconds: 500 µs, 2 s.
func tickLabel(power, factor int) string {
	unit := min(power/3, 3)
	return fmt.Sprintf("%d%s %s", factor, strings.Repeat("0", power-3*unit), []string{"ns", "µs", "ms", "s"}[unit])
}

// boardDrawing is a board with placed queens, in units of a square.
type boardDrawing struct {
	N           int
	Description string
	Dark        string // path of the dark squares
	Queens      []queens.Square
}

func newBoardDrawing(n int, placed []queens.Square) *boardDrawing {
	var dark strings.Builder
	for row := range n {
		for column := range n {
			if (row+column+n)%2 == 0 { // the bottom left square is dark, as in chess
				fmt.Fprintf(&dark, "M%d %dh1v1h-1z", column, row)
			}
		}
	}
	return &boardDrawing{n, fmt.Sprintf("A board of side %d with queens on %s, as row,column from 0 at the top left.", n, humanize.Squares(placed)), dark.String(), placed}
}
