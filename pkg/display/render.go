package display

import (
	"math"
	"strings"
	"time"

	"nqueens/pkg/humanize"
	"nqueens/pkg/run"
)

// widest is how much of a wide terminal is used: what belongs together is not torn apart,
// and little of it goes on in another row when the terminal becomes narrower.
const widest = 100

// spacious is from how many lines on the first is left empty, to set the display off from
// the log.
const spacious = 10

// render returns the display for a terminal of that size, the most important lines first.
// No line is wider than the terminal. There are at most half as many as it has rows, but
// three if it has four.
func (l look) render(s *run.Progress, note string, width, height int) []line {
	width = min(width, widest)
	room := max(1, min(max(3, height/2), height-1))
	var lines []line
	if room >= spacious {
		lines = append(lines, nil)
	}
	lines = append(lines, l.title(s, width), l.advance(s, width))
	if note != "" {
		lines = append(lines, line{{l.clean(note), notice}})
	}
	lines = append(lines, l.results(s, width))
	if s.WorkerCount > 0 || s.State == run.Running {
		lines = append(lines, l.strength(s))
	}
	if left := room - len(lines); left > 0 {
		lines = append(lines, l.crew(s, width, left)...)
	}
	lines = lines[:min(len(lines), room)]
	for i, t := range lines {
		lines[i] = t.fit(width, l)
	}
	return lines
}

// title is the line that says which run it is, and its state.
func (l look) title(s *run.Progress, width int) line {
	parts := []part{
		{0, line{{"n = " + humanize.Int(s.N), bold}}},
		{3, line{{l.clean(string(s.Symmetry)) + " symmetry", faint}}},
	}
	if s.Placed > 0 {
		parts = append(parts, part{4, line{{humanize.Plural(s.Placed, "queen") + " placed", faint}}})
	}
	parts = append(parts,
		part{2, line{{l.clean(s.Run), plain}}},
		part{1, line{{l.clean(string(s.State)), stateStyle(s.State)}}},
	)
	return l.row(parts, width)
}

func stateStyle(s run.State) style {
	switch s {
	case run.Running:
		return filled
	case run.Complete:
		return good
	case run.Contradicted:
		return alarm
	case run.Stopped, run.Cancelled:
	}
	return notice
}

// The bar takes up a fixed share of the width, so that it does not change its length with
// the texts beside it, and only in narrow terminals less.
const (
	barShare = 0.45
	leastBar = 8
)

// advance is the line with the bar, and how long it has taken and will take.
func (l look) advance(s *run.Progress, width int) line {
	const gap = 2
	done := s.WorkDone >= 1 && s.Done >= s.Tasks
	share := humanize.Percent(s.WorkDone, done)
	parts := []part{
		{0, line{spaces(len("99.9%") - len(share)), {share, bold}}},
		{2, line{{humanize.Clock(s.Elapsed), plain}, {" elapsed", faint}}},
	}
	switch {
	case done || s.State.Finished() || s.State == run.Stopped:
	case s.ETA == (run.Range{}):
		parts = append(parts, part{1, line{{"estimating", faint}}})
	default:
		parts = append(parts, part{1, line{{humanize.Remaining(s.ETA), plain}, {" left", faint}}})
	}
	beside := join(parts, choose(parts, width-leastBar-gap, gap), spaces(gap))
	bar := min(int(barShare*float64(width)), width-gap-beside.width())
	if bar < leastBar/2 {
		return beside
	}
	return append(append(l.bar(s.WorkDone, done, bar), spaces(gap)), beside...)
}

// bar shows a share on so many cells, in eighths of a cell. It is full only when all is
// done.
func (l look) bar(share float64, done bool, width int) line {
	steps := 8
	if l.ascii {
		steps = 1
	}
	fill := 0
	switch {
	case done:
		fill = steps * width
	case share > 0: // so not NaN
		fill = int(math.Min(share*float64(steps*width), float64(steps*width-1)))
	}
	if l.ascii {
		return line{{strings.Repeat("#", fill), filled}, {strings.Repeat(".", width-fill), faint}}
	}
	whole := fill / 8
	bar := line{{strings.Repeat("█", whole), filled}}
	if rest := fill % 8; rest > 0 {
		bar = append(bar, piece{string([]rune("▏▎▍▌▋▊▉")[rest-1]), track})
		whole++
	}
	empty := strings.Repeat(" ", width-whole)
	if !l.color {
		empty = strings.Repeat("░", width-whole)
	}
	return append(bar, piece{empty, track})
}

// results is the line with what was found, and what is odd about it.
func (l look) results(s *run.Progress, width int) line {
	solutions := " solutions"
	if s.Solutions != nil && s.Solutions.IsInt64() && s.Solutions.Int64() == 1 {
		solutions = " solution"
	}
	parts := []part{
		{1, line{{humanize.Big(s.Solutions), bold}, {solutions, plain}}},
		{2, line{{humanize.Rate(s.Rate), plain}}},
		{3, line{{humanize.Int(s.Done) + " of " + humanize.Plural(s.Tasks, "task"), plain}}},
	}
	if s.Republished > 0 {
		parts = append(parts, part{4, line{{humanize.Int(s.Republished) + " repeated", notice}}})
	}
	if s.Conflicts > 0 {
		parts = append(parts, part{0, line{{humanize.Plural(s.Conflicts, "conflict"), alarm}}})
	}
	return l.row(parts, width)
}

// row puts what fits of some parts on a line.
func (l look) row(parts []part, width int) line {
	return join(parts, choose(parts, width, cells(l.gap())), piece{l.gap(), faint})
}

// greeting is the time in which the workers that are there have said so.
const greeting = 5 * time.Second

// strength is the line with how many are at it.
func (l look) strength(s *run.Progress) line {
	switch {
	case s.WorkerCount == 0 && s.Elapsed < greeting:
		return line{{"no workers yet", faint}}
	case s.WorkerCount == 0:
		return line{{"no workers", notice}}
	}
	return line{{humanize.Plural(s.WorkerCount, "worker"), plain}, {l.gap(), faint}, {humanize.Plural(s.Threads, "thread"), plain}}
}
