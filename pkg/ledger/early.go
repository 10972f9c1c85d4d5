package ledger

import (
	"cmp"
	"iter"
	"slices"

	"nqueens/pkg/queens"
)

// MaxEarly is how many signed chunk results of a key count as early, at most.
const MaxEarly = 32

// early has the early signed chunk results of each key, and the tasks whose accepted results come from them.
// It is made when a file is loaded.
type early struct {
	bits    []uint64 // A bit for each number of a chunk result.
	reports []earlyReport
	spans   []earlySpan
}

// earlyReport is a signed chunk result by its number in the file.
type earlyReport struct {
	number uint64
	key    string
	before uint64 // Chunk results of the key with a lower number.
}

// earlySpan is consecutive tasks whose accepted results come from one chunk result.
type earlySpan struct{ first, end, report uint64 }

// EarlyTasks returns the tasks whose accepted result, when the ledger was opened, came from one of the first
// signed chunk results of its key in the file: from the first most, up to [MaxEarly]. It leaves out keys that are
// quarantined, and those for which skip returns true. The tasks are mostly in order. It reads no file.
func (l *Ledger) EarlyTasks(most int, skip func(key string) bool) iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		for _, s := range l.early.spans {
			r := l.early.report(s.report)
			if r.before >= uint64(most) || l.IsQuarantined(r.key) || skip(r.key) {
				continue
			}
			for task := s.first; task < s.end; task++ {
				if !yield(task) {
					return
				}
			}
		}
	}
}

// noteReport notes the next signed chunk result of the file.
func (e *early) noteReport(number uint64, key string, before uint64) {
	if number/64 >= uint64(len(e.bits)) {
		e.bits = append(e.bits, 0)
	}
	if before < MaxEarly {
		e.bits[number/64] |= 1 << (number % 64)
		e.reports = append(e.reports, earlyReport{number, key, before})
	}
}

// has reports whether a result comes from an early chunk result.
func (e *early) has(r *queens.Result) bool {
	word := r.Report / 64
	return word < uint64(len(e.bits)) && e.bits[word]>>(r.Report%64)&1 != 0
}

// report returns an early chunk result.
func (e *early) report(number uint64) earlyReport {
	i, _ := slices.BinarySearchFunc(e.reports, number, func(r earlyReport, n uint64) int { return cmp.Compare(r.number, n) })
	return e.reports[i]
}

// add adds an accepted result that takes the place of a lost one.
func (e *early) add(r *queens.Result) {
	if e.has(r) {
		e.spans = append(e.spans, earlySpan{r.Task, r.Task + 1, r.Report})
	}
}

// appendTask adds the task of an accepted result; the tasks come in order.
func appendTask(spans []earlySpan, r *queens.Result) []earlySpan {
	if n := len(spans); n > 0 && spans[n-1].end == r.Task && spans[n-1].report == r.Report {
		spans[n-1].end++
		return spans
	}
	return append(spans, earlySpan{r.Task, r.Task + 1, r.Report})
}
