package display

import (
	"slices"
	"strings"
	"time"

	"nqueens/pkg/humanize"
	"nqueens/pkg/run"
)

// A worker is slow when it has searched a task for longer than this, and longer than so
// many times the median of all: tasks are much of a size, and who holds one for long may
// be stuck.
const (
	slowAfter = 30 * time.Second
	slowTimes = 5
)

// slowFrom returns how long a worker of a crew must have searched a task to be slow.
func slowFrom(crew []run.WorkerStatus) time.Duration {
	var ages []time.Duration
	for _, m := range crew {
		if m.Held > 0 {
			ages = append(ages, m.LongestTask)
		}
	}
	if len(ages) == 0 {
		return slowAfter
	}
	slices.Sort(ages)
	return max(slowAfter, slowTimes*ages[(len(ages)-1)/2])
}

// crew returns a line a worker, by name, in columns. Where there is not room for all,
// slow ones come before others, and a last line says how many more there are.
func (l look) crew(s *run.Progress, width, room int) []line {
	slow := slowFrom(s.Workers)
	all := max(len(s.Workers), s.WorkerCount)
	members := s.Workers
	if all > room {
		members = someOf(members, room-1, slow)
	}
	if len(members) == 0 {
		return nil
	}
	rows := make([][]part, len(members))
	for i, m := range members {
		rows[i] = l.member(m, slow)
	}
	lines := columns(rows, width, l)
	if more := all - len(members); more > 0 {
		lines = append(lines, line{spaces(indent), {l.ellipsis() + " and " + humanize.Plural(more, "more worker"), faint}})
	}
	return lines
}

// someOf returns so many of a crew, in its order: the slow ones, then the first.
func someOf(crew []run.WorkerStatus, number int, slow time.Duration) []run.WorkerStatus {
	var order []int
	for i, m := range crew {
		if m.LongestTask > slow {
			order = append(order, i)
		}
	}
	for i, m := range crew {
		if m.LongestTask <= slow {
			order = append(order, i)
		}
	}
	order = order[:min(number, len(order))]
	slices.Sort(order)
	some := make([]run.WorkerStatus, len(order))
	for k, i := range order {
		some[k] = crew[i]
	}
	return some
}

// The columns of a crew.
const (
	nameColumn = iota
	threadsColumn
	kernelColumn
	rateColumn
	heldColumn
	ageColumn
)

const (
	indent    = 2
	columnGap = 2
	longName  = 36 // cells that a name has at most
	shortName = 16 // cells that a name gives up no other column for
)

// member returns the columns of a worker.
func (l look) member(m run.WorkerStatus, slow time.Duration) []part {
	row := []part{
		nameColumn:    {0, line{{cut(l.clean(m.Name), longName, l), plain}}},
		threadsColumn: {3, line{{inColumn(m.Threads, "thread"), faint}}},
		kernelColumn:  {4, line{{cut(l.clean(m.Kernel), shortName, l), faint}}},
		rateColumn:    {2, line{{"-", faint}}},
		heldColumn:    {5, line{{inColumn(m.Held, "task"), faint}}},
		ageColumn:     {1, line{{"for ", faint}, {humanize.Clock(m.LongestTask), plain}}},
	}
	if m.Rate > 0 {
		row[rateColumn].text = line{{humanize.Rate(m.Rate), plain}}
	}
	switch {
	case m.Held == 0:
		row[heldColumn].text, row[ageColumn].text = nil, line{{"idle", faint}}
	case m.LongestTask > slow:
		row[ageColumn].text = line{{"! for " + humanize.Clock(m.LongestTask), notice}} // seen without colors too
	}
	return row
}

// inColumn is plural for numbers below each other.
func inColumn(number int, what string) string {
	text := humanize.Plural(number, what)
	if !strings.HasSuffix(text, "s") {
		text += " "
	}
	return text
}

// columns puts rows below each other. Where the width does not suffice, columns are left
// out, those of the greatest rank first; names are cut off.
func columns(rows [][]part, width int, l look) []line {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for c, p := range row {
			widths[c] = max(widths[c], p.text.width())
		}
	}
	head := make([]part, len(widths))
	for c, p := range rows[0] {
		head[c] = part{p.rank, line{spaces(widths[c])}}
	}
	head[nameColumn].text = line{spaces(min(widths[nameColumn], shortName))}
	chosen := choose(head, width-indent, columnGap)
	names := width - indent
	for _, c := range chosen[1:] {
		names -= columnGap + widths[c]
	}
	widths[nameColumn] = min(widths[nameColumn], names)
	lines := make([]line, len(rows))
	for i, row := range rows {
		row[nameColumn].text = row[nameColumn].text.fit(widths[nameColumn], l)
		for k, c := range chosen {
			left := c == nameColumn || c == kernelColumn
			if !left || k < len(chosen)-1 {
				row[c].text = aligned(row[c].text, widths[c], left)
			}
		}
		lines[i] = append(line{spaces(indent)}, join(row, chosen, spaces(columnGap))...)
	}
	return lines
}

// aligned fills a text up to a width, on its right side or on its left.
func aligned(text line, width int, left bool) line {
	gap := spaces(width - text.width())
	if left {
		return append(text, gap)
	}
	return append(line{gap}, text...)
}
