package dashboard

import (
	"math"
	"testing"
	"time"
)

// However long a run is, its history has a bounded number of rows, which cover the whole time in order,
// and whose means are those of what was measured.
func TestHistory(t *testing.T) {
	for _, hours := range []int{0, 1, 24, 24 * 7} {
		var h history
		begun := time.Unix(1e9, 0)
		measured, sum := 0, 0.0
		for at := begun; at.Sub(begun) <= time.Duration(hours)*time.Hour; at = at.Add(time.Second) {
			s := snapshot(1)
			s.Progress.Rate = float64(measured % 1000)
			s.Progress.WorkDone = at.Sub(begun).Hours() / float64(max(hours, 1))
			h.add(at, &s.Progress)
			sum += s.Progress.Rate
			measured++
		}
		c := h.object().Columns
		rows, samples, mean := len(c.Time), 0.0, 0.0
		for i, row := range append(h.rows, h.pending) {
			samples += row.samples
			mean += row.rate * row.samples
			if i > 0 && (c.Time[i] <= c.Time[i-1] || c.Percent[i] < c.Percent[i-1]) {
				t.Fatalf("%d hours: row %d at %v follows one at %v", hours, i, c.Time[i], c.Time[i-1])
			}
		}
		if rows > maxRows || rows < min(measured, maxRows/3) || c.Time[0] != 1e9 || samples != float64(measured) || math.Abs(mean-sum) > 1e-6*sum {
			t.Errorf("%d hours: %d rows of %v measurements from %v, want %d, with the sum %v, want %v", hours, rows, samples, c.Time[0], measured, mean, sum)
		}
		if hours > 0 && c.Percent[rows-1] != 100 {
			t.Errorf("%d hours: the last row has %v percent", hours, c.Percent[rows-1])
		}
		for _, column := range [][]float64{c.Rate, c.Percent, c.Threads, c.Workers} {
			if len(column) != rows {
				t.Errorf("%d hours: a column has %d rows, the time has %d", hours, len(column), rows)
			}
		}
	}
}
