package main

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"nqueens/pkg/cli/clitest"
	"nqueens/pkg/testkit"
)

func TestMain(m *testing.M) { clitest.Main(m, "coordinator", main) }

func TestScripts(t *testing.T) { clitest.Scripts(t) }

func TestGeneratedFlags(t *testing.T) {
	root, _ := newProgram()
	testkit.Generated(t, "flags of coordinator", clitest.Flags(root, root.Commands()...))
}

// The command to resume a run has the flags that its ledger does not store, and no password.
func TestResumeCommand(t *testing.T) {
	var o sessionFlags
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	flags.String("symmetry", "", "")
	o.register(flags)
	err := flags.Parse([]string{
		"--symmetry", "mirror", "--listen", "0.0.0.0:4222", "--workers", "3", "--json", "--nats", "nats://u:secret@host",
		"--machine", "a",
	})
	if err != nil {
		t.Fatal(err)
	}
	want := " resume n20-a --listen 0.0.0.0:4222 --workers 3 --json --nats URL --machine a"
	if got := o.resume("n20-a"); !strings.HasSuffix(got, want) {
		t.Errorf("%s, want %s", got, want)
	}
}
