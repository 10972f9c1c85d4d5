package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"nqueens/pkg/run"
)

// The exit code depends on what the error wraps, however deep. A signal comes before any
// error that it caused. The error is logged once, on one line, and a signal without any other error
// as a warning; stdout stays empty.
func TestExitCodes(t *testing.T) {
	interrupt, terminate := Signal{syscall.SIGINT}, Signal{syscall.SIGTERM}
	for _, c := range []struct {
		name string
		err  error
		want int
	}{
		{"anything", errors.New("disk on fire"), 1},
		{"a context that ended by itself", context.Canceled, 1},
		{"contradiction", run.ErrContradiction, 3},
		{"incomplete", run.ErrIncomplete, 4},
		{"no connection", run.ErrNoConnection, 5},
		{"only interrupt", interrupt, 130},
		{"only SIGTERM", terminate, 143},
		{"usage, found late", Usagef("no such kernel"), 2},
		{"interrupt, and so incomplete", errors.Join(run.ErrIncomplete, interrupt), 130},
		{"SIGTERM, and so no connection", fmt.Errorf("%w: %w", run.ErrNoConnection, terminate), 143},
		{"contradiction, and so incomplete", errors.Join(run.ErrIncomplete, run.ErrContradiction), 3},
	} {
		for depth, err := range []error{
			c.err,
			fmt.Errorf("count: %w", c.err),
			fmt.Errorf("run n8: %w", fmt.Errorf("task 5: %w", c.err)),
			errors.Join(errors.New("close the store"), c.err),
		} {
			t.Run(fmt.Sprintf("%s, wrapped %d", c.name, depth), func(t *testing.T) {
				p := newProgram(t, func(*program, []string) error { return err }).run("count")
				if p.code != c.want {
					t.Errorf("exit %d, want %d", p.code, c.want)
				}
				if c.want == 2 {
					if !strings.HasPrefix(p.stderr.String(), "tool count: ") {
						t.Errorf("stderr has %q, want a plain line", &p.stderr)
					}
					return
				}
				var logged struct {
					Level, Message string
					Exit           int
				}
				if bad := json.Unmarshal(p.stderr.Bytes(), &logged); bad != nil {
					t.Fatalf("stderr has %q, want one line of JSON: %v", &p.stderr, bad)
				}
				said, level := strings.ReplaceAll(err.Error(), "\n", "; "), "error"
				if strings.HasPrefix(c.name, "only ") && depth < 3 { // at depth 3 there is an error beside it
					level = "warn"
				}
				if logged.Level != level || logged.Exit != c.want || logged.Message != said || p.stdout.Len() > 0 {
					t.Errorf("stdout has %q and the log %+v, want %q", &p.stdout, logged, said)
				}
			})
		}
	}
}

// Without an error, the exit code is 0 and nothing is printed.
func TestExitDone(t *testing.T) {
	p := newProgram(t, nothing).run("count")
	if p.code != 0 || !p.ran || p.stdout.Len()+p.stderr.Len() > 0 {
		t.Errorf("exit %d, stdout %q, stderr %q", p.code, &p.stdout, &p.stderr)
	}
}
