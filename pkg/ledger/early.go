package ledger

import "nqueens/pkg/run"

// early has the early statements of each key, and the tasks whose accepted results come from them.
// It is made when a file is loaded.
type early struct {
	keys  map[uint64]string // Of these statements, by number.
	spans []earlySpan
}

// earlySpan is consecutive tasks whose accepted results come from one statement.
type earlySpan struct{ first, end, statement uint64 }

// EarlyTasks returns the tasks whose accepted result, when the ledger was opened, came from one of the first
// [run.EarlyChunks] statements of its key in the file. It leaves out keys that are quarantined, and those for which skip
// returns true. The tasks are mostly in order. It reads no file.
func (l *Ledger) EarlyTasks(skip func(key string) bool) (tasks []uint64) {
	for _, s := range l.early.spans {
		if key := l.early.keys[s.statement]; l.IsQuarantined(key) || skip(key) {
			continue
		}
		for task := s.first; task < s.end; task++ {
			tasks = append(tasks, task)
		}
	}
	return tasks
}

// add adds the task of an accepted result, if that comes from an early statement; the tasks mostly come in order.
func (e *early) add(r *run.Result) {
	if _, ok := e.keys[r.StatementID]; !ok {
		return
	}
	if n := len(e.spans); n > 0 && e.spans[n-1].end == r.Task && e.spans[n-1].statement == r.StatementID {
		e.spans[n-1].end++
		return
	}
	e.spans = append(e.spans, earlySpan{r.Task, r.Task + 1, r.StatementID})
}
