package report

import (
	"io"
	"time"

	"nqueens/pkg/humanize"
	"nqueens/pkg/runstore"
)

// WritePruned writes a table of at most 80 columns: what was removed, or with dryRun what would be,
// how much each frees, and the sum. It writes nothing of no runs.
func WritePruned(w io.Writer, runs []runstore.Pruned, dryRun bool) error {
	if len(runs) == 0 {
		return nil
	}
	verb := "FREED"
	if dryRun {
		verb = "WOULD FREE"
	}
	rows := [][]string{{"RUN", "STATE", "ENDED", verb}}
	var bytes uint64
	for i := range runs {
		r := &runs[i]
		state, ended, freed := string(r.State), "", humanize.Bytes(r.Bytes)
		if state == "" {
			state = "removed in part"
		} else {
			ended = humanize.Clock(time.Since(r.Ended)) + " ago"
		}
		if r.Server != "" {
			freed = "on the server"
		}
		rows = append(rows, []string{shorten(r.Run, maxRunColumns), state, ended, freed})
		bytes += r.Bytes
	}
	return writeTable(w, append(rows, []string{humanize.Plural(len(runs), "run"), "", "", humanize.Bytes(bytes)}), false)
}
