package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"nqueens/pkg/bus"
	"nqueens/pkg/cli/clitest"
	"nqueens/pkg/queens"
	"nqueens/pkg/testkit"
)

func TestMain(m *testing.M) { clitest.Main(m, "worker", main) }

func TestScripts(t *testing.T) { clitest.Scripts(t) }

// A worker whose hardware is hidden asks for the name of its host, unless it has one or an
// invitation.
func TestNameNote(t *testing.T) {
	for _, c := range []struct {
		machine, user, why string
		says               bool
	}{
		{"", queens.WorkerUser, "hidden", true}, {"", queens.WorkerUser, "", false},
		{"lab7", queens.WorkerUser, "hidden", false}, {"", "alice", "hidden", false},
	} {
		o := runFlags{machine: c.machine}
		if text := o.nameNote(c.user, c.why); strings.HasPrefix(text, "hidden: ") != c.says {
			t.Errorf("%+v: %q", c, text)
		}
	}
}

// TestManual makes the manual pages. scripts/release runs it.
func TestManual(t *testing.T) {
	root, _ := newProgram()
	clitest.Manual(t, root)
}

// The worker has all flags of the connection. Their table is made from the coordinator's flags.
func TestGeneratedFlags(t *testing.T) {
	root, _ := newProgram()
	var server bus.Flags
	connection := pflag.NewFlagSet("", pflag.ContinueOnError)
	server.Register(connection)
	connection.VisitAll(func(f *pflag.Flag) {
		if have := root.Flags().Lookup(f.Name); have == nil || have.Usage != f.Usage {
			t.Errorf("the worker's flag --%s differs from that of the coordinator", f.Name)
		}
	})
	other := func(f *pflag.Flag) bool { return connection.Lookup(f.Name) == nil }
	testkit.Generated(t, "flags of worker",
		clitest.Flags(other, nil, slices.Insert(root.Commands(), 0, root)...))
}
