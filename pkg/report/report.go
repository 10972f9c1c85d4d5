// Package report presents what commands find out: the result of a run, its progress, the
// result of its verification, lists of runs, and estimates. Each has the forms that fit it:
// a table or lines of text for people, a JSON object for programs, an event of the log. The
// package formats plain values; computing them is up to its callers.
package report

import (
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"nqueens/pkg/humanize"
	"nqueens/pkg/queens"
)

// Decimal is an exact number. In JSON it is text, because it may exceed the numbers of many
// programs; nil is null.
type Decimal big.Int

// MarshalText returns the decimal digits.
func (d *Decimal) MarshalText() ([]byte, error) { return (*big.Int)(d).MarshalText() }

// String returns the decimal digits.
func (d *Decimal) String() string { return (*big.Int)(d).String() }

// Comparison is how a total compares with the published one, OEIS A000170.
type Comparison string

// The comparisons.
const (
	Match       Comparison = "match"
	Mismatch    Comparison = "mismatch"
	Unpublished Comparison = "none" // no total is given, or none is published
)

// writeJSON writes values as JSON, one a line.
func writeJSON[T any](w io.Writer, values ...T) error {
	out := json.NewEncoder(w)
	for _, v := range values {
		if err := out.Encode(v); err != nil {
			return err
		}
	}
	return nil
}

// row is a line of a table. The remark may be empty.
type row struct{ label, value, remark string }

// writeTable writes rows with their values and remarks in columns.
func writeTable(w io.Writer, rows []row, color bool) error {
	faint, bold, reset := "", "", ""
	if color { // ECMA-48, 8.3.117
		faint, bold, reset = "\x1b[2m", "\x1b[1m", "\x1b[0m"
	}
	labels, values := 0, 0
	for _, r := range rows {
		labels = max(labels, len(r.label))
		if r.remark != "" {
			values = max(values, len(r.value))
		}
	}
	var b strings.Builder
	for _, r := range rows {
		fmt.Fprintf(&b, "%s%-*s%s  ", faint, labels, r.label, reset)
		if r.remark == "" {
			fmt.Fprintf(&b, "%s%s%s\n", bold, queens.Sanitize(r.value), reset)
		} else {
			fmt.Fprintf(&b, "%s%-*s%s  %s\n", bold, values, queens.Sanitize(r.value), reset, queens.Sanitize(r.remark))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// logDuration adds a duration to an event, for people and, in a field of its own, in
// seconds for programs.
func logDuration(event *zerolog.Event, name string, d time.Duration) {
	event.Str(name, humanize.Duration(d)).Float64(name+"_s", d.Seconds())
}
