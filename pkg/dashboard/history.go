package dashboard

import (
	"nqueens/pkg/humanize"
	"nqueens/pkg/run"
)

// maxRows bounds the rows of a history.
const maxRows = 1000

// historyJSON is the JSON object of a history: columns of the same length.
type historyJSON struct {
	Columns historyColumns `json:"columns"` // lists of the same length
}

type historyColumns struct {
	Time    []float64 `json:"time"`    // Unix seconds
	Rate    []float64 `json:"rate"`    // solutions per second
	Percent []float64 `json:"percent"` // of the estimated work
	Threads []float64 `json:"threads"` // of all workers
	Workers []float64 `json:"workers"` // connected
}

// newHistory returns the object of a history whose times are Unix times.
func newHistory(h *run.History) historyJSON {
	rows := h.Samples()
	if rest, ok := h.Rest(); ok {
		rows = append(rows[:len(rows):len(rows)], rest)
	}
	c := historyColumns{
		Time: make([]float64, len(rows)), Rate: make([]float64, len(rows)), Percent: make([]float64, len(rows)),
		Threads: make([]float64, len(rows)), Workers: make([]float64, len(rows)),
	}
	for i := range rows {
		row := &rows[i]
		c.Time[i], c.Rate[i], c.Percent[i] = float64(row.From.Milliseconds())/1000, row.Rate, humanize.Percentage(row.WorkDone)
		c.Threads[i], c.Workers[i] = row.Threads, row.Workers
	}
	return historyJSON{Columns: c}
}
