package main

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"nqueens/pkg/audit"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
	"nqueens/pkg/session"
)

// The command line for counting a board again gives the same tasks, and has no flag that it
// does not need.
func TestRestartCommand(t *testing.T) {
	for _, want := range []string{
		"8",
		"20 --symmetry mirror",
		"8 --symmetry none",
		"8 --depth 3",
		"9 --symmetry mirror --depth 2",
		"1 --symmetry none --depth 1",
		"16 --place 3,2 --place 5,7",
		"8 --place 0,3 --depth 8",
	} {
		m := planned(t, want)
		got := restartCommand(&m)
		command, again := strings.CutPrefix(got, "coordinator count ")
		if !again || !strings.HasSuffix(got, " --new") {
			t.Fatalf("%s: the command is %q", want, got)
		}
		if same := planned(t, command); same.Hash != m.Hash || same.Symmetry != m.Symmetry || same.Tasks != m.Tasks {
			t.Errorf("%s: %q has other tasks", want, got)
		}
		longest := len("coordinator count ") + len(want) + len(" --depth 8 --new")
		if strings.Contains(want, "--depth") && !strings.Contains(got, "--depth") || len(got) > longest {
			t.Errorf("%s: the command is %q", want, got)
		}
	}
}

// An error of a package keeps its identity and names the command or the flag that helps.
func TestWithHint(t *testing.T) {
	for want, err := range map[string]error{
		"coordinator count 8 --symmetry mirror --depth 2 --new": &audit.EarlyContradictionError{Run: "n8-a", Manifest: planned(t, "8 --symmetry mirror --depth 2")},
		"coordinator verify": fmt.Errorf("%w, n8-a", session.ErrPreviousContradicted),
		"--unique":           session.ErrUnique,

		"coordinator resume RUN --take-over": fmt.Errorf("setup: %w", session.ErrActive),
	} {
		if hinted := withHint(err); !strings.Contains(hinted.Error(), want) {
			t.Errorf("%v: %v, want %q", err, hinted, want)
		}
	}
	if err := withHint(nil); err != nil {
		t.Error(err)
	}
	if err := withHint(run.ErrCancelled); !errors.Is(err, run.ErrCancelled) {
		t.Errorf("%v is another error", err)
	}
}

// planned returns the manifest of a command line of count.
func planned(t *testing.T, line string) queens.Manifest {
	t.Helper()
	var o countFlags
	cmd := &cobra.Command{}
	o.register(cmd)
	if err := cmd.ParseFlags(strings.Fields(line)); err != nil {
		t.Fatal(err)
	}
	job, err := o.job(cmd.Flags().Args())
	if err != nil {
		t.Fatal(err)
	}
	m, err := session.Plan(t.Context(), job)
	if err != nil {
		t.Fatal(err)
	}
	return m
}
