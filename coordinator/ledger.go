package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"nqueens/pkg/cli"
	"nqueens/pkg/ledger"
	"nqueens/pkg/queens"
	"nqueens/pkg/split"
)

func ledgerCommand(app *cli.App) *cobra.Command {
	var data dataFlag
	var format string
	var task uint64
	cmd := &cobra.Command{
		Use:   "ledger RUN",
		Short: "Print every subtotal of a run, with what is needed to count it again",
		Long: `Print the ledger of a run, a line for each task that is counted: its prefixes, its
board, and what was counted by whom. docs/ledger.md describes the lines. worker task
counts them again; so can any other program.`,
		Example: `  coordinator ledger n14-20261120-153012-ab12 > subtotals.jsonl
  coordinator ledger n14-20261120-153012-ab12 --format csv
  coordinator ledger n14-20261120-153012-ab12 --task 17 | worker task`,
		ValidArgsFunction: cli.WithEnvironment(data.completeRun),
		RunE: func(cmd *cobra.Command, args []string) error {
			run, err := runArg(args)
			if err != nil {
				return err
			}
			store, err := data.open(app.Log)
			if err != nil {
				return err
			}
			l, err := store.OpenReadOnly(run)
			if err != nil {
				return withHint(err)
			}
			out := bufio.NewWriterSize(cmd.OutOrStdout(), 1<<16)
			write := exportFormats[format](out)
			if cmd.Flags().Changed("task") {
				err = exportOne(cmd.Context(), l, task, write)
			} else {
				err = export(cmd.Context(), l, write)
			}
			return errors.Join(seenEnough(err), seenEnough(write.flush()), seenEnough(out.Flush()), l.Close())
		},
	}
	flags := cmd.Flags()
	flags.Var(cli.NewChoice(&format, "jsonl", "jsonl", "csv"), "format", "form of the lines")
	flags.Uint64Var(&task, "task", 0, "print this task alone, also where it has no count")
	data.register(flags)
	return cmd
}

// seenEnough drops the one error that is none: whoever reads has closed the pipe.
func seenEnough(err error) error {
	if errors.Is(err, syscall.EPIPE) {
		return nil
	}
	return err
}

// export writes every task that is counted, in order of id.
func export(ctx context.Context, l *ledger.Ledger, out subtotalWriter) error {
	h := l.Header()
	if err := reproducible(ctx, h.Run, &h.Manifest); err != nil {
		return err
	}
	for task := range split.Tasks(&h.Manifest) {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if !l.Has(task.ID) {
			continue
		}
		if err := exportTask(l, &h.Manifest, task, out); err != nil {
			return err
		}
	}
	return nil
}

// exportOne writes one task, whether it is counted or not.
func exportOne(ctx context.Context, l *ledger.Ledger, id uint64, out subtotalWriter) error {
	h := l.Header()
	if err := reproducible(ctx, h.Run, &h.Manifest); err != nil {
		return err
	}
	var failed error
	err := split.Find(ctx, &h.Manifest, []uint64{id}, func(task queens.Task) { failed = exportTask(l, &h.Manifest, task, out) })
	return cmp.Or(err, failed)
}

func exportTask(l *ledger.Ledger, m *queens.Manifest, task queens.Task, out subtotalWriter) error {
	task.Run = l.Header().Run
	result, counted, err := l.Result(task.ID)
	if err != nil {
		return err
	}
	k := m.Classes[m.ClassOf(task.ID)].K
	if !counted {
		return out.write(queens.NewExportedTask(&task, k, nil))
	}
	if result.Hash != task.Hash() {
		return fmt.Errorf("%w: the result of task %d by %s is of another task", queens.ErrContradiction, task.ID, result.Worker)
	}
	return out.write(queens.NewExportedTask(&task, k, &result))
}

// subtotalWriter writes subtotals in one format.
type subtotalWriter struct {
	write func(s queens.ExportedTask) error
	flush func() error
}

var exportFormats = map[string]func(io.Writer) subtotalWriter{"jsonl": jsonLines, "csv": csvLines}

func jsonLines(w io.Writer) subtotalWriter {
	out := json.NewEncoder(w)
	return subtotalWriter{
		write: func(s queens.ExportedTask) error { return out.Encode(s) },
		flush: func() error { return nil },
	}
}

// csvLines writes a line of headings, and then the fields of the JSON lines. Masks stand
// in one field, separated by spaces; the numbers of a prefix by colons.
func csvLines(w io.Writer) subtotalWriter {
	out := csv.NewWriter(w)
	headed := false
	return subtotalWriter{
		write: func(s queens.ExportedTask) error {
			if !headed {
				headed = true
				if err := out.Write([]string{"run", "task", "hash", "k", "allow", "prefixes", "count", "worker", "kernel", "attempt", "seconds"}); err != nil {
					return err
				}
			}
			return out.Write(csvFields(&s))
		},
		flush: func() error { out.Flush(); return out.Error() },
	}
}

func csvFields(s *queens.ExportedTask) []string {
	allow := make([]string, s.Board.N)
	for row := range allow {
		allow[row] = strconv.FormatUint(uint64(s.Board.Allow[row]), 10)
	}
	prefixes := make([]string, len(s.Prefixes))
	for i, p := range s.Prefixes {
		prefixes[i] = fmt.Sprintf("%d:%d:%d:%d", p.Row, p.Cols, p.Left, p.Right)
	}
	fields := []string{
		s.Run, strconv.FormatUint(s.ID, 10), fmt.Sprintf("%016x", s.Hash), strconv.Itoa(s.K),
		strings.Join(allow, " "), strings.Join(prefixes, " "),
	}
	if !s.Counted {
		return append(fields, "", "", "", "", "")
	}
	return append(fields, strconv.FormatUint(s.Count, 10), s.Worker, s.Kernel,
		strconv.FormatUint(uint64(s.Attempt), 10), strconv.FormatFloat(s.Seconds, 'g', -1, 64))
}
