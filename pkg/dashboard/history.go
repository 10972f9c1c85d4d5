package dashboard

import (
	"time"

	"nqueens/pkg/humanize"
	"nqueens/pkg/run"
)

// maxRows bounds the rows of a history.
const maxRows = 1000

// history is what was measured of a run, in rows at equal distances of time. When they are too many,
// neighbours are merged, and the distance doubles. Its zero value is ready to use.
type history struct {
	rows     []row
	interval time.Duration // between rows
	pending  row           // the mean of what was measured since the last row
}

// row is what was measured around a time.
type row struct {
	from             time.Time // of the first measurement
	samples          float64
	rate             float64
	percent          float64 // at the end
	threads, workers float64
}

// add takes up a snapshot.
func (h *history) add(at time.Time, p *run.Progress) {
	if h.interval == 0 {
		h.interval = time.Second
	}
	if h.pending.samples > 0 && at.Sub(h.pending.from) >= h.interval {
		h.rows = append(h.rows, h.pending)
		h.pending = row{}
	}
	h.pending = merge(h.pending, row{
		from: at, samples: 1, rate: p.Rate, percent: humanize.Percentage(p.WorkDone),
		threads: float64(p.Threads), workers: float64(p.WorkerCount),
	})
	if len(h.rows) >= maxRows-1 { // with the pending one they are maxRows
		h.halve()
	}
}

// halve merges each two neighbours.
func (h *history) halve() {
	for i := 0; i+1 < len(h.rows); i += 2 {
		h.rows[i/2] = merge(h.rows[i], h.rows[i+1])
	}
	if len(h.rows)%2 == 1 {
		h.pending = merge(h.rows[len(h.rows)-1], h.pending)
	}
	h.rows = h.rows[:len(h.rows)/2]
	h.interval *= 2
}

// merge returns a row for two that follow each other.
func merge(a, b row) row {
	switch {
	case a.samples == 0:
		return b
	case b.samples == 0:
		return a
	}
	mean := func(x, y float64) float64 { return (x*a.samples + y*b.samples) / (a.samples + b.samples) }
	return row{
		from: a.from, samples: a.samples + b.samples, percent: b.percent,
		rate: mean(a.rate, b.rate), threads: mean(a.threads, b.threads), workers: mean(a.workers, b.workers),
	}
}

// historyJSON is the JSON object of a history: columns of the same length.
type historyJSON struct {
	Columns historyColumns `json:"columns"`
}

type historyColumns struct {
	Time    []float64 `json:"time"` // Unix seconds
	Rate    []float64 `json:"rate"`
	Percent []float64 `json:"percent"`
	Threads []float64 `json:"threads"`
	Workers []float64 `json:"workers"`
}

func (h *history) object() historyJSON {
	rows := h.rows
	if h.pending.samples > 0 {
		rows = append(rows[:len(rows):len(rows)], h.pending)
	}
	c := historyColumns{
		Time: make([]float64, len(rows)), Rate: make([]float64, len(rows)), Percent: make([]float64, len(rows)),
		Threads: make([]float64, len(rows)), Workers: make([]float64, len(rows)),
	}
	for i, row := range rows {
		c.Time[i], c.Rate[i], c.Percent[i] = float64(row.from.UnixMilli())/1000, row.rate, row.percent
		c.Threads[i], c.Workers[i] = row.threads, row.workers
	}
	return historyJSON{Columns: c}
}
