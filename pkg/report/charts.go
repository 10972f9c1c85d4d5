package report

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"nqueens/pkg/humanize"
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

// line is a line of the grid or a tick, with its label.
type line struct{ At, Label string }

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
		lines = append(lines, line{pixels(plotBottom - share*plotHeight), format(share * step * float64(steps))})
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
			c.Ticks = append(c.Ticks, line{percent(at(t)), humanize.Clock(t)})
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
