package display

import (
	"cmp"
	"fmt"
	"math"
	"math/big"
	"strings"

	"nqueens/pkg/humanize"
	"nqueens/pkg/queens"
	"nqueens/pkg/report"
)

// maxWidth limits the width of lines on wide terminals. It keeps related texts close together, and
// limits how many lines wrap when the terminal becomes narrower.
const maxWidth = 100

// layout returns the lines of the display for a terminal of the given size, the most important ones
// first. No line is wider than the terminal. The lines take at most half of the terminal's rows, or
// three if that is more, but leave at least one row to the log unless there is only one.
func layout(s *queens.Snapshot, width, height int, color bool) []line {
	width = min(width, maxWidth)
	room := max(1, min(max(3, height/2), height-1))
	var lines []line
	if room >= 10 {
		lines = append(lines, nil) // separates the display from the log
	}
	lines = append(lines, titleRow(s, width), progressRow(s, width, color))
	for _, b := range s.Bans() {
		lines = append(lines, line{{narrow(report.BanText(&b)), alarm}})
	}
	if text := s.NoTotal(); text != "" {
		lines = append(lines, line{{text, notice}})
	}
	if s.Waits != nil {
		lines = append(lines, waitRow(s))
	}
	lines = append(lines, resultsRow(s, width))
	if s.State == queens.Running {
		lines = append(lines, line{{report.Fleet(s), plain}})
		lines = append(lines, workerRows(s, width, max(0, room-len(lines)))...)
	}
	lines = lines[:min(len(lines), room)]
	for i, l := range lines {
		lines[i] = l.fit(width)
	}
	return lines
}

// titleRow has the run and its state.
func titleRow(s *queens.Snapshot, width int) line {
	styles := map[queens.State]style{queens.Running: filled, queens.Complete: good,
		queens.Contradicted: alarm}
	board := string(s.Symmetry) + " symmetry"
	if s.Symmetry == queens.None {
		board = "no symmetry"
	}
	if len(s.Placed) > 0 {
		board = humanize.Plural(len(s.Placed), "queen") + " placed"
	}
	return row(width, segment{0, line{{"n = " + humanize.Int(s.N), bold}}},
		segment{3, line{{narrow(string(s.Method)), faint}}},
		segment{4, line{{narrow(board), faint}}},
		segment{2, line{{narrow(s.Run), plain}}},
		segment{1, line{{narrow(string(s.State)), cmp.Or(styles[s.State], notice)}}})
}

// waitRow says for what the run waits, since when, and what would help.
func waitRow(s *queens.Snapshot) line {
	since := " for " + humanize.Clock(s.At.Sub(s.Waits.Since))
	row := line{{narrow(s.Waits.Text()), notice}, {since, faint}}
	if advice := s.Waits.Advice(); advice != "" {
		row = append(row, span{separator, faint}, span{narrow(advice), plain})
	}
	return row
}

// progressRow has the bar, the percentage, the elapsed time and the time to go. The bar takes a
// fixed part of the width, so that its length does not depend on the texts beside it. On narrow
// terminals it is shorter or missing.
func progressRow(s *queens.Snapshot, width int, color bool) line {
	const gap, minBar = 2, 8
	percent, done := report.Share(s), s.Done == s.Tasks
	segments := []segment{
		{0, line{spaces(len("99.9%") - len(percent)), {percent, bold}}},
		{2, line{{humanize.Clock(s.Elapsed.Duration), plain}, {" elapsed", faint}}},
	}
	if s.State == queens.Running && (s.TimeToGo != nil || done) && s.Waits == nil {
		segments = append(segments, segment{1, line{{report.Remaining(s), plain}}})
	}
	text := join(segments, width-minBar-gap, spaces(gap))
	bar := min(width*45/100, width-gap-text.width())
	if bar < minBar/2 {
		return text
	}
	return append(append(barOf(float64(s.WorkDone), done, bar, color), spaces(gap)), text...)
}

// barOf returns a bar whose filled part shows the share, to an eighth of a cell. The bar is full
// only if done is true.
func barOf(share float64, done bool, width int, color bool) line {
	fill := 0
	switch {
	case done:
		fill = 8 * width
	case share > 0: // excludes NaN
		fill = int(math.Min(share*float64(8*width), float64(8*width-1)))
	}
	empty := "░"
	if color {
		empty = " "
	}
	bar := line{{strings.Repeat("█", fill/8), filled}}
	if part := fill % 8; part > 0 {
		bar = append(bar, span{string([]rune("▏▎▍▌▋▊▉")[part-1]), track})
	}
	return append(bar, span{strings.Repeat(empty, width-(fill+7)/8), track})
}

// resultsRow has the solutions found so far, the rate, the disputes and the tasks.
func resultsRow(s *queens.Snapshot, width int) line {
	found := line{{"no total", alarm}}
	if s.Solutions != nil {
		found = line{{humanize.Big((*big.Int)(s.Solutions)), bold}, {" solutions", plain}}
	}
	segments := []segment{
		{0, found},
		{3, line{{humanize.Int(s.Done) + " of " + humanize.Plural(s.Tasks, "task"), plain}}},
	}
	if s.Rate != nil {
		segments = append(segments, segment{2, line{{humanize.Rate(s.PerSecond), plain}}})
	}
	if s.Checks != nil && s.Disputes > 0 {
		segments = append(segments, segment{1, line{{humanize.Plural(s.Disputes, "dispute"), alarm}}})
	}
	return row(width, segments...)
}

// row joins the segments that fit on a line.
func row(width int, segments ...segment) line {
	return join(segments, width, span{separator, faint})
}

// workerRows returns a line for each worker, in columns, if there is room. If there is not enough,
// the last line says how many workers are missing.
func workerRows(s *queens.Snapshot, width, room int) []line {
	if s.Live == nil {
		return nil
	}
	list, all := s.WorkerList, max(len(s.WorkerList), s.Workers)
	if all > room {
		list = list[:max(0, min(room-1, len(list)))]
	}
	rows, widths := make([][]segment, len(list)), [6]int{}
	for i := range list {
		rows[i] = workerRow(&list[i], max(12, min(28, width/3)))
		for c, cell := range rows[i] {
			widths[c] = max(widths[c], cell.text.width())
		}
	}
	lines := make([]line, 0, len(rows)+1)
	// the columns of all rows have the same widths, so that the same columns fit
	for _, cells := range rows {
		for c, cell := range cells {
			padding := spaces(widths[c] - cell.text.width())
			if c == 0 || c == 2 { // name and kernel
				cells[c].text = append(cells[c].text, padding)
			} else {
				cells[c].text = append(line{padding}, cell.text...)
			}
		}
		lines = append(lines, append(line{spaces(2)}, join(cells, width-2, spaces(2))...))
	}
	if more := all - len(list); len(list) > 0 && more > 0 {
		lines = append(lines,
			line{{fmt.Sprintf("  %s and %s", ellipsis, humanize.Plural(more, "more worker")), faint}})
	}
	return lines
}

// workerRow returns the columns of a worker. Its name takes at most the given number of cells.
func workerRow(w *queens.Worker, room int) []segment {
	rate := line{{"-", faint}}
	held := line{{humanize.Plural(w.Held, "task"), faint}}
	age := line{{"for " + humanize.Clock(w.Longest.Duration), plain}}
	if w.Rate != nil {
		rate = line{{humanize.Rate(w.PerSecond), plain}}
	}
	if w.Held == 0 {
		held, age = nil, line{{"idle", faint}}
	}
	if w.Banned {
		age = line{{"banned", alarm}}
	}
	if w.IsSilent() {
		age = line{{"silent for " + humanize.Clock(w.LastSeen.Duration), notice}}
	}
	return []segment{
		{0, line{{narrow(w.Label), plain}}.fit(room)},
		{3, line{{humanize.Plural(w.Threads, "thread"), faint}}},
		{4, line{{narrow(w.Kernel), faint}}.fit(16)},
		{2, rate},
		{5, held},
		{1, age},
	}
}
