package display

import (
	"strings"

	"nqueens/pkg/humanize"
	"nqueens/pkg/run"
)

// workersTable returns a line for each worker, by name, in columns. If there are more than
// room allows, a last line counts those not shown.
func (t theme) workersTable(p *run.Snapshot, width, room int) []line {
	workers, all := p.WorkerList, max(len(p.WorkerList), p.Workers)
	if all > room {
		workers = workers[:min(room-1, len(workers))]
	}
	if len(workers) == 0 {
		return nil
	}
	rows := make([][]segment, len(workers))
	for i := range workers {
		rows[i] = t.workerRow(&workers[i])
	}
	lines := columns(rows, width, t)
	if more := all - len(workers); more > 0 {
		lines = append(lines, line{spaces(indent), {t.ellipsis() + " and " + humanize.Plural(more, "more worker"), faint}})
	}
	return lines
}

// The columns of the workers that are aligned to the left.
const (
	nameColumn   = 0
	kernelColumn = 2
)

const (
	indent       = 2
	columnGap    = 2
	maxNameWidth = 36
	minNameWidth = 16 // below this width of the names, other columns are dropped instead
	maxKernel    = 16
	maxPaused    = 40
)

// workerRow returns the columns of a worker.
func (t theme) workerRow(w *run.Worker) []segment {
	rate, held := line{{"-", faint}}, line{{pluralColumn(w.Held, "task"), faint}}
	age := line{{"for ", faint}, {humanize.Clock(w.Oldest.Duration), plain}}
	if w.Rate > 0 {
		rate = line{{humanize.Rate(w.Rate), plain}}
	}
	switch {
	case w.Paused != "":
		held, age = nil, line{{"paused: " + t.inCharset(w.Paused), notice}}.fit(maxPaused, t)
	case w.Held == 0 && w.Rate > 0: // it has counted something, and not yet said what it searches
		held, age = nil, nil
	case w.Held == 0:
		held, age = nil, line{{"idle", faint}}
	}
	return []segment{
		nameColumn:   {0, line{{t.inCharset(w.Name), plain}}.fit(maxNameWidth, t)},
		1:            {3, line{{pluralColumn(w.Threads, "thread"), faint}}},
		kernelColumn: {4, line{{t.inCharset(w.Kernel), faint}}.fit(maxKernel, t)},
		{2, rate},
		{5, held},
		{1, age},
	}
}

// pluralColumn formats a number with a noun such that the numbers of several rows align.
func pluralColumn(number int, noun string) string {
	text := humanize.Plural(number, noun)
	if !strings.HasSuffix(text, "s") {
		text += " "
	}
	return text
}

// columns aligns rows in columns. If the width does not suffice, it drops the columns of
// the highest priority numbers and truncates the names.
func columns(rows [][]segment, width int, t theme) []line {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for c, s := range row {
			widths[c] = max(widths[c], s.text.width())
		}
	}
	widest := make([]segment, len(widths))
	for c, s := range rows[0] {
		widest[c] = segment{s.priority, line{spaces(widths[c])}}
	}
	widest[nameColumn].text = line{spaces(min(widths[nameColumn], minNameWidth))}
	chosen := fitSegments(widest, width-indent, columnGap)
	nameWidth := width - indent
	for _, c := range chosen[1:] {
		nameWidth -= columnGap + widths[c]
	}
	widths[nameColumn] = min(widths[nameColumn], nameWidth)
	lines := make([]line, len(rows))
	for i, row := range rows {
		row[nameColumn].text = row[nameColumn].text.fit(widths[nameColumn], t)
		for k, c := range chosen {
			left := c == nameColumn || c == kernelColumn
			if !left || k < len(chosen)-1 {
				row[c].text = row[c].text.align(widths[c], left)
			}
		}
		lines[i] = append(line{spaces(indent)}, join(row, chosen, spaces(columnGap))...)
	}
	return lines
}
