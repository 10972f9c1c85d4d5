package display

import "strings"

// Line is a line of a [Summary]: what is told, and a remark about it, which may be empty.
type Line struct{ Label, Value, Remark string }

// Summary returns lines for people, with the values below each other.
func Summary(lines []Line, color bool) string {
	l := look{color: color}
	labels, values := 0, 0
	for _, t := range lines {
		labels = max(labels, cells(l.clean(t.Label)))
		if t.Remark != "" {
			values = max(values, cells(l.clean(t.Value)))
		}
	}
	var b strings.Builder
	for _, t := range lines {
		label, value := l.clean(t.Label), l.clean(t.Value)
		row := line{{label, faint}, spaces(labels - cells(label) + 2), {value, bold}}
		if t.Remark != "" {
			row = append(row, spaces(values-cells(value)+2), piece{l.clean(t.Remark), plain})
		}
		b.WriteString(row.paint(l) + "\n")
	}
	return b.String()
}
