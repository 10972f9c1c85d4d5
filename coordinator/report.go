package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"

	"github.com/rs/zerolog"

	"nqueens/pkg/cli"
	"nqueens/pkg/ledger"
	"nqueens/pkg/progress"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
	"nqueens/pkg/symmetry"
)

// report is the JSON object that count prints.
type report struct {
	N        int             `json:"n"`
	Total    *string         `json:"total"` // null where no total can be given
	Known    string          `json:"known"` // "match", "mismatch" or "none"
	Unique   string          `json:"unique,omitempty"`
	Run      string          `json:"run"`
	Symmetry queens.Symmetry `json:"symmetry"`
	Placed   []queens.Square `json:"placed,omitempty"` // beforehand, each [row,column]
	Tasks    uint64          `json:"tasks"`
	Seconds  float64         `json:"seconds"`
	Workers  int             `json:"workers"`
}

// print writes what stdout is for: the total, alone or in a JSON object. Without a
// total it writes nothing; but a contradiction is reported as such in JSON.
func (r *report) print(stdout io.Writer, total *big.Int, err error, asJSON bool) error {
	if total == nil && !(asJSON && errors.Is(err, queens.ErrContradiction)) {
		return nil
	}
	if !asJSON {
		_, err := fmt.Fprintln(stdout, total)
		return err
	}
	if total != nil {
		digits := total.String()
		r.Total = &digits
	}
	return json.NewEncoder(stdout).Encode(r)
}

// comparison says how a run compares with the published total: "match", "mismatch", or
// "none" where one of the two is lacking. A run that ended in a contradiction, without a
// total, is a mismatch where its counts can't come to the published one any more: their
// sum is beyond it, or below it and of all tasks.
func comparison(l *ledger.Ledger, total *big.Int, ended error) string {
	m := l.Header().Manifest
	known := knownTotal(&m)
	if known == nil || total == nil && !errors.Is(ended, queens.ErrContradiction) {
		return "none"
	}
	sum, all := total, true
	if total == nil {
		var sums symmetry.Sums
		for r, err := range l.All() {
			if err != nil {
				return "none"
			}
			sums.Add(m.Classes[m.ClassOf(r.Task)].K, r.Count)
		}
		sum, all = sums.Partial(), l.Len() == m.Tasks
	}
	switch difference := sum.Cmp(known); {
	case difference == 0 && total != nil:
		return "match"
	case difference > 0 || difference < 0 && all:
		return "mismatch"
	}
	return "none"
}

// ending names the way in which a run ended.
func ending(err error) string {
	switch {
	case err == nil:
		return "complete"
	case errors.Is(err, queens.ErrContradiction):
		return "contradicted"
	case errors.Is(err, queens.ErrCancelled):
		return "cancelled"
	case errors.Is(err, queens.ErrIncomplete):
		return "incomplete"
	case errors.As(err, new(cli.Signal)):
		return "stopped"
	}
	return "failed"
}

// logChange logs that a worker of another process joins or leaves.
func logChange(log zerolog.Logger, change progress.Change, h *run.Heartbeat) {
	switch change {
	case progress.Joins:
		log.Info().Str("worker", h.Worker).Str("version", h.Version).Str("kernel", h.Kernel).Int("threads", h.Threads).Msg("worker joined")
	case progress.Leaves:
		log.Info().Str("worker", h.Worker).Msg("worker left")
	case progress.Stays:
	}
}

// secondsField names the field that has a duration as a number, for programs; the field of
// the plain name has it for people.
func secondsField(name string) string { return name + cli.SecondsSuffix }
