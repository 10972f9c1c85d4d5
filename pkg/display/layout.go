package display

import (
	"cmp"
	"fmt"
	"math"
	"math/big"
	"strings"
	"time"

	"nqueens/pkg/humanize"
	"nqueens/pkg/run"
)

// maxWidth limits the lines on wide terminals, to keep together what belongs together and
// to limit how many lines wrap when the terminal becomes narrower.
const maxWidth = 100

// spaciousFrom is the number of lines from which on the first is empty, to separate the
// display from the log.
const spaciousFrom = 10

// layout returns the display for a terminal of that size, the most important lines first.
// No line is wider than the terminal. The lines take at most half of its rows, or three if
// it has at least four.
func (t theme) layout(p *run.Snapshot, status string, width, height int) []line {
	width = min(width, maxWidth)
	room := max(1, min(max(3, height/2), height-1))
	var lines []line
	if room >= spaciousFrom {
		lines = append(lines, nil)
	}
	lines = append(lines, t.titleRow(p, width), t.progressRow(p, width))
	if status != "" {
		lines = append(lines, line{{t.inCharset(status), notice}})
	}
	lines = append(lines, t.resultsRow(p, width))
	if p.Workers > 0 || p.State == run.Running {
		lines = append(lines, t.workersRow(p))
	}
	if left := room - len(lines); left > 0 {
		lines = append(lines, t.workersTable(p, width, left)...)
	}
	lines = lines[:min(len(lines), room)]
	for i, l := range lines {
		lines[i] = l.fit(width, t)
	}
	return lines
}

// titleRow says which run it is, and its state.
func (t theme) titleRow(p *run.Snapshot, width int) line {
	segments := []segment{
		{0, line{{"n = " + humanize.Int(p.N), bold}}},
		{3, line{{t.inCharset(string(p.Symmetry)) + " symmetry", faint}}},
	}
	if placed := len(p.Placed); placed > 0 {
		segments = append(segments, segment{4, line{{humanize.Plural(placed, "queen") + " placed", faint}}})
	}
	segments = append(segments,
		segment{2, line{{t.inCharset(p.Run), plain}}},
		segment{1, line{{t.inCharset(string(p.State)), cmp.Or(stateStyles[p.State], notice)}}},
	)
	return t.row(segments, width)
}

// stateStyles are the styles of the states; that of the others is notice.
var stateStyles = map[run.State]style{run.Running: filled, run.Complete: good, run.Contradicted: alarm}

// The bar takes a fixed share of the width, so that its length does not depend on the texts
// beside it, and less only on narrow terminals.
const (
	barShare = 0.45
	minBar   = 8
)

// progressRow has the bar, the elapsed time and the time left.
func (t theme) progressRow(p *run.Snapshot, width int) line {
	const gap = 2
	done := p.WorkDone >= 1 && p.Done >= p.Tasks
	percent := humanize.Percent(float64(p.WorkDone), done)
	segments := []segment{
		{0, line{spaces(len("99.9%") - len(percent)), {percent, bold}}},
		{2, line{{humanize.Clock(p.Elapsed.Duration), plain}, {" elapsed", faint}}},
	}
	switch {
	case done || p.State != run.Running:
	case p.ETA == nil:
		segments = append(segments, segment{1, line{{"estimating", faint}}})
	default:
		segments = append(segments, segment{1, line{{humanize.Remaining(p.ETA.Min.Duration, p.ETA.Max.Duration), plain}, {" left", faint}}})
	}
	text := join(segments, fitSegments(segments, width-minBar-gap, gap), spaces(gap))
	bar := min(int(barShare*float64(width)), width-gap-text.width())
	if bar < minBar/2 {
		return text
	}
	return append(append(t.bar(float64(p.WorkDone), done, bar), spaces(gap)), text...)
}

// bar shows a share on a number of cells, in eighths of a cell, or whole cells in ASCII. It is
// full only if done is true.
func (t theme) bar(share float64, done bool, width int) line {
	full, partial, empty, rest := "█", []rune("▏▎▍▌▋▊▉"), "░", track
	switch {
	case t.ascii:
		full, partial, empty, rest = "#", nil, ".", faint
	case t.color:
		empty = " "
	}
	steps, fill := len(partial)+1, 0
	switch {
	case done:
		fill = steps * width
	case share > 0: // excludes NaN
		fill = int(math.Min(share*float64(steps*width), float64(steps*width-1)))
	}
	cells := fill / steps
	bar := line{{strings.Repeat(full, cells), filled}}
	if part := fill % steps; part > 0 {
		bar = append(bar, span{string(partial[part-1]), track})
		cells++
	}
	return append(bar, span{strings.Repeat(empty, width-cells), rest})
}

// resultsRow has what was found, and what is unusual about it.
func (t theme) resultsRow(p *run.Snapshot, width int) line {
	noun := " solutions"
	if p.Solutions.String() == "1" {
		noun = " solution"
	}
	segments := []segment{
		{1, line{{humanize.Big((*big.Int)(p.Solutions)), bold}, {noun, plain}}},
		{2, line{{humanize.Rate(p.Rate), plain}}},
		{3, line{{humanize.Int(p.Done) + " of " + humanize.Plural(p.Tasks, "task"), plain}}},
	}
	if p.Republished > 0 {
		segments = append(segments, segment{4, line{{humanize.Int(p.Republished) + " republished", notice}}})
	}
	if p.Disputes > 0 {
		segments = append(segments, segment{0, line{{humanize.Plural(p.Disputes, "dispute"), alarm}}})
	}
	return t.row(segments, width)
}

// row joins the segments that fit on a line.
func (t theme) row(segments []segment, width int) line {
	gap := t.separator()
	return join(segments, fitSegments(segments, width, cells(gap)), span{gap, faint})
}

// joinGrace is the time within which existing workers join.
const joinGrace = 5 * time.Second

// workersRow counts workers and threads.
func (t theme) workersRow(p *run.Snapshot) line {
	switch {
	case p.Workers > 0:
		workers, threads := humanize.Plural(p.Workers, "worker"), humanize.Plural(p.Threads, "thread")
		row := line{{workers, plain}, {t.separator(), faint}, {threads, plain}}
		if p.PausedWorkers > 0 {
			row = append(row, span{t.separator(), faint}, span{fmt.Sprintf("%d paused", p.PausedWorkers), notice})
		}
		if bound := p.Bottleneck.Phrase(); bound != "" && p.State == run.Running {
			row = append(row, span{t.separator(), faint}, span{bound, notice})
		}
		if others := len(p.Sharing); others == 1 {
			row = append(row, span{t.separator(), faint}, span{"shared with " + p.Sharing[0], notice})
		} else if others > 1 {
			row = append(row, span{t.separator(), faint}, span{fmt.Sprintf("shared with %d other runs", others), notice})
		}
		return row
	case p.Elapsed.Duration < joinGrace:
		return line{{"no workers yet", faint}}
	}
	return line{{"no workers", notice}}
}
