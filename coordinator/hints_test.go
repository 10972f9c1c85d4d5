package main

import (
	"strings"
	"testing"

	"nqueens/pkg/cli"
	"nqueens/pkg/queens"
)

// The command line that is told for the same count is one of the same tasks, and says no
// more than it needs.
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
			t.Fatalf("%s: the same is %q", want, got)
		}
		if same := planned(t, command); same.Hash != m.Hash || same.Symmetry != m.Symmetry || same.Tasks != m.Tasks {
			t.Errorf("%s: %q is another count", want, got)
		}
		if depth := " --depth "; strings.Contains(want, depth) && !strings.Contains(got, depth) || len(got) > len("coordinator count ")+len(want)+len(" --depth 8 --new") {
			t.Errorf("%s: the same is %q", want, got)
		}
	}
}

// planned returns the manifest of a command line of count.
func planned(t *testing.T, line string) queens.Manifest {
	t.Helper()
	var o countOptions
	flags := countCommand(&cli.App{}).Flags()
	if err := flags.Parse(strings.Fields(line)); err != nil {
		t.Fatal(err)
	}
	n, err := cli.ParseN(flags.Args())
	if err != nil {
		t.Fatal(err)
	}
	depth, err := flags.GetInt("depth")
	if err != nil {
		t.Fatal(err)
	}
	place, err := flags.GetStringArray("place")
	if err != nil {
		t.Fatal(err)
	}
	o.flags, o.symmetry, o.depth, o.place = flags, flags.Lookup("symmetry").Value.String(), depth, place
	if err := o.takePlaced(n); err != nil {
		t.Fatal(err)
	}
	m, err := plan(t.Context(), n, &o)
	if err != nil {
		t.Fatal(err)
	}
	return m
}
