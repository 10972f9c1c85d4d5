package audit

import (
	"bufio"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"nqueens/pkg/ledger"
	"nqueens/pkg/run"
	"nqueens/pkg/split"
)

// ExportFormat is a form of exported tasks, which docs/ledger.md describes.
type ExportFormat string

// The formats: a JSON object per line, or comma-separated values.
const (
	JSONLines ExportFormat = "jsonl"
	CSV       ExportFormat = "csv"
)

// Export writes the tasks of a ledger with these ids, or without ids every counted task, with
// what is needed to count them again, in order of id. If the run has ended, it writes also who
// confirmed each count; before, that would tell which tasks are checked.
func Export(ctx context.Context, l *ledger.Ledger, w io.Writer, format ExportFormat, ids ...uint64) error {
	h := l.Header()
	m := &h.Manifest
	if err := CheckManifest(ctx, h.Run, m); err != nil {
		return err
	}
	index, err := split.NewIndex(ctx, m)
	if err != nil {
		return err
	}
	buffer := bufio.NewWriterSize(w, 1<<16)
	write := lineWriter(buffer, format)
	statements := make(map[uint64]struct{}) // Those written.
	export := func(id uint64) error {
		task, found := index.Task(id)
		if !found {
			return fmt.Errorf("the run has no task %d: it has %d", id, m.Tasks)
		}
		task.Run = h.Run
		result, counted, err := resultOf(l, &task)
		if err != nil {
			return err
		}
		weight := m.Classes[m.ClassOf(id)].Weight
		if !counted {
			return write(run.NewExportedTask(&task, weight, nil))
		}
		exported := run.NewExportedTask(&task, weight, &result)
		if err := addStatements(l, &exported, statements); err != nil {
			return err
		}
		return write(exported)
	}
	for _, id := range ids {
		err = cmp.Or(err, export(id))
	}
	for id := uint64(0); len(ids) == 0 && id < m.Tasks && err == nil; id++ {
		if err = context.Cause(ctx); err == nil && l.Has(id) {
			err = export(id)
		}
	}
	return cmp.Or(err, buffer.Flush())
}

// addStatements adds the confirmations of a counted task, if the run has ended, and each statement
// to the first count that it has. It notes the statements.
func addStatements(l *ledger.Ledger, t *run.ExportedTask, written map[uint64]struct{}) (err error) {
	statement := func(number uint64) (signature, statement []byte) {
		if _, ok := written[number]; ok || number == 0 || err != nil {
			return nil, nil
		}
		written[number] = struct{}{}
		var sealed run.Sealed
		sealed, err = l.Statement(number)
		return sealed.Signature, sealed.Statement
	}
	t.Signature, t.Statement = statement(t.StatementID)
	if err != nil || !l.State().Finished() || !l.HasConfirmations(t.ID) {
		return err
	}
	supporters, failed := l.Supporters(t.ID)
	if failed != nil {
		return failed
	}
	for i := range supporters[1:] {
		c := run.NewExportedConfirmation(&supporters[1+i])
		c.Signature, c.Statement = statement(c.StatementID)
		t.Confirmations = append(t.Confirmations, c)
	}
	return err
}

// lineWriter returns a function that writes a task in a format. CSV begins with a line of
// headings.
func lineWriter(w *bufio.Writer, format ExportFormat) func(run.ExportedTask) error {
	if format == JSONLines {
		out := json.NewEncoder(w)
		return func(t run.ExportedTask) error { return out.Encode(t) }
	}
	out := csv.NewWriter(w) // which uses the buffer of w
	headings := []string{
		"run", "task", "hash", "weight", "allow", "prefixes", "count", "worker", "kernel", "attempt", "seconds",
		"key", "statement_id", "signature", "statement", "unadmitted", "confirmations",
	}
	return func(t run.ExportedTask) error {
		if headings != nil {
			if err := out.Write(headings); err != nil {
				return err
			}
			headings = nil
		}
		fields, err := csvFields(&t)
		if err == nil {
			err = out.Write(fields)
		}
		return err
	}
}

// csvFields returns the fields of the JSON object as text. Masks share one field, separated
// by spaces; colons separate the numbers of a prefix. Confirmations stay JSON.
func csvFields(t *run.ExportedTask) ([]string, error) {
	allow := make([]string, t.Board.N)
	for row := range allow {
		allow[row] = fmt.Sprint(t.Board.Allow[row])
	}
	prefixes := make([]string, len(t.Prefixes))
	for i, p := range t.Prefixes {
		prefixes[i] = fmt.Sprintf("%d:%d:%d:%d", p.Row, p.Cols, p.Left, p.Right)
	}
	fields := []string{
		t.Run, fmt.Sprint(t.ID), fmt.Sprintf("%016x", t.Hash), fmt.Sprint(t.Weight),
		strings.Join(allow, " "), strings.Join(prefixes, " "),
	}
	if t.Count == nil {
		return append(fields, make([]string, 11)...), nil
	}
	var id, unadmitted string
	if t.StatementID != 0 {
		id = strconv.FormatUint(t.StatementID, 10)
	}
	if t.Unadmitted {
		unadmitted = "true"
	}
	var confirmations []byte
	if len(t.Confirmations) > 0 {
		var err error
		if confirmations, err = json.Marshal(t.Confirmations); err != nil {
			return nil, err
		}
	}
	base64 := base64.StdEncoding.EncodeToString
	return append(fields, strconv.FormatUint(*t.Count, 10), t.Worker, t.Kernel,
		strconv.FormatUint(uint64(t.Attempt), 10), strconv.FormatFloat(*t.Seconds, 'g', -1, 64),
		t.Key, id, base64(t.Signature), base64(t.Statement), unadmitted, string(confirmations)), nil
}
