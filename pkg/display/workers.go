package display

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"nqueens/pkg/humanize"
	"nqueens/pkg/run"
)

// A worker is slow if it has searched a task for longer than slowAfter and for longer than
// slowFactor times the median: tasks are of similar size, so it may be stuck.
const (
	slowAfter  = 30 * time.Second
	slowFactor = 5
)

// slowLimit returns how long a worker may search a task before it is slow.
func slowLimit(workers []run.Worker) time.Duration {
	var ages []time.Duration
	for _, w := range workers {
		if w.Held > 0 {
			ages = append(ages, w.Oldest.Duration)
		}
	}
	if len(ages) == 0 {
		return slowAfter
	}
	slices.Sort(ages)
	return max(slowAfter, slowFactor*ages[(len(ages)-1)/2])
}

// workersTable returns a line for each worker, by name, in columns. If there are more than
// room allows, slow workers have precedence, and a last line counts those not shown.
func (t theme) workersTable(p *run.Snapshot, width, room int) []line {
	slow := slowLimit(p.WorkerList)
	all := max(len(p.WorkerList), p.Workers)
	workers := p.WorkerList
	if all > room {
		workers = selectWorkers(workers, room-1, slow)
	}
	if len(workers) == 0 {
		return nil
	}
	rows := make([][]segment, len(workers))
	for i, w := range workers {
		rows[i] = t.workerRow(w, slow)
	}
	lines := columns(rows, width, t)
	if more := all - len(workers); more > 0 {
		lines = append(lines, line{spaces(indent), {t.ellipsis() + " and " + humanize.Plural(more, "more worker"), faint}})
	}
	return lines
}

// selectWorkers returns up to so many of the workers, by name: the slow ones, and then the
// first of the others.
func selectWorkers(workers []run.Worker, number int, slow time.Duration) []run.Worker {
	selected := slices.Clone(workers)
	slices.SortStableFunc(selected, func(a, b run.Worker) int {
		return cmp.Compare(max(b.Oldest.Duration, slow), max(a.Oldest.Duration, slow))
	})
	selected = selected[:min(number, len(selected))]
	slices.SortStableFunc(selected, func(a, b run.Worker) int { return cmp.Compare(a.Name, b.Name) })
	return selected
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
)

// workerRow returns the columns of a worker.
func (t theme) workerRow(w run.Worker, slow time.Duration) []segment {
	rate, held := line{{"-", faint}}, line{{pluralColumn(w.Held, "task"), faint}}
	age := line{{"for ", faint}, {humanize.Clock(w.Oldest.Duration), plain}}
	if w.Rate > 0 {
		rate = line{{humanize.Rate(w.Rate), plain}}
	}
	switch {
	case w.Held == 0 && w.Rate > 0: // it has counted something, and not yet said what it searches
		held, age = nil, nil
	case w.Held == 0:
		held, age = nil, line{{"idle", faint}}
	case w.Oldest.Duration > slow: // marked without colors too
		age = line{{"! for " + humanize.Clock(w.Oldest.Duration), notice}}
	}
	return []segment{
		nameColumn:   {0, line{{t.clean(w.Name), plain}}.fit(maxNameWidth, t)},
		1:            {3, line{{pluralColumn(w.Threads, "thread"), faint}}},
		kernelColumn: {4, line{{t.clean(w.Kernel), faint}}.fit(maxKernel, t)},
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
