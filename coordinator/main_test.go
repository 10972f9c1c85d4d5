package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"nqueens/pkg/bus"
	"nqueens/pkg/cli"
	"nqueens/pkg/cli/clitest"
	"nqueens/pkg/humanize"
	"nqueens/pkg/join"
	"nqueens/pkg/runs"
	"nqueens/pkg/testkit"
)

func TestMain(m *testing.M) { clitest.Main(m, "coordinator", main) }

func TestScripts(t *testing.T) { clitest.Scripts(t) }

// TestManual makes the manual pages. scripts/release runs it.
func TestManual(t *testing.T) {
	root, _ := newProgram()
	clitest.Manual(t, root)
}

// The flags of the connection have a table of their own, because the worker has them too.
func TestGeneratedFlags(t *testing.T) {
	root, _ := newProgram()
	var server bus.Flags
	connection := pflag.NewFlagSet("", pflag.ContinueOnError)
	server.Register(connection)
	ofConnection := func(f *pflag.Flag) bool { return connection.Lookup(f.Name) != nil }
	other := func(f *pflag.Flag) bool { return !ofConnection(f) }
	testkit.Generated(t, "flags of coordinator", clitest.Flags(other, root, root.Commands()...))
	testkit.Generated(t, "flags of the connection",
		clitest.Flags(ofConnection, nil, root.Commands()...))
}

func TestGeneratedExitCodes(t *testing.T) {
	table := "| code | |\n|---|---|\n"
	for _, c := range cli.ExitCodes() {
		table += "| " + c.Code + " | " + c.Meaning + " |\n"
	}
	testkit.Generated(t, "exit codes", table)
}

// The command to resume a run has the flags that its ledger does not store, and no password.
func TestResumeCommand(t *testing.T) {
	var o sessionFlags
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	flags.String("symmetry", "", "")
	o.register(flags)
	err := flags.Parse([]string{
		"--symmetry", "mirror", "--listen", "0.0.0.0:4222", "--workers", "3", "--json", "--nats",
		"nats://u:secret@host",
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

// Every command of a hint is one that this program has, with the flags that lead to the same runs
// and the same server.
func TestHintsAreCommands(t *testing.T) {
	folder := t.TempDir()
	store, err := runs.NewStore(folder)
	if err != nil {
		t.Fatal(err)
	}
	data := dataFlag{path: folder}
	var session sessionFlags
	session.register(pflag.NewFlagSet("", pflag.ContinueOnError))
	err = session.flags.Parse([]string{"--workers", "2", "--listen", ":4222", "--advertise", "a",
		"--machine", "m", "--http", ":80", "--linger", "1h", "--nats", "nats://a", "--user", "u",
		"--data", folder})
	if err != nil {
		t.Fatal(err)
	}
	server := bus.Flags{Join: "join.token", Options: bus.Options{
		URL: "nats://a:1,nats://b:2", User: "alice", Creds: "c", NKey: "k", TLSCA: "t",
	}}
	all := "--creds " + absolute("c") + " --join " + absolute("join.token") +
		" --nats nats://a:1,nats://b:2 --nkey " + absolute("k") + " --tls-ca " + absolute("t") +
		" --user alice"
	for _, hint := range []struct{ typed, want string }{
		{session.resume("n8-a"), "--workers 2 --listen :4222 --advertise a --machine m --http :80 " +
			"--linger 1h --nats nats://a --user u --data " + folder},
		{data.resume(store, "n8-a"), "--data " + folder},
		{data.command("rm", "n8-a", "--yes"), "--yes true --data " + folder},
		{data.command("verify", "n8-a"), "--data " + folder},
		{data.command("watch", "n8-a"), "--data " + folder},
		{data.command("runs"), "--data " + folder},
		{data.command("count", "8", "--listen", "ADDR:1"), "--listen ADDR:1 --data " + folder},
		{serverCommand(&server, "watch", "n8-a"), all},
		{serverCommand(&server, "runs"), all},
	} {
		typed := strings.TrimPrefix(hint.typed, humanize.Command("coordinator")+" ")
		root, _ := newProgram()
		cmd, words, err := root.Find(strings.Fields(typed))
		if err == nil {
			err = cmd.ParseFlags(words)
		}
		if err == nil {
			err = cmd.ValidateArgs(cmd.Flags().Args())
		}
		var got []string
		cmd.Flags().Visit(func(f *pflag.Flag) { got = append(got, "--"+f.Name+" "+f.Value.String()) })
		slices.Sort(got)
		want := strings.Split(" "+hint.want, " --")[1:]
		slices.Sort(want)
		if err != nil || strings.Join(got, " ") != "--"+strings.Join(want, " --") {
			t.Errorf("%s: %v, with %q, want %s", hint.typed, err, got, hint.want)
		}
	}
}

// The names of runs are sorted by their starts, whatever the side.
func TestStartOf(t *testing.T) {
	names := []string{"n20-20261127-010000-aaaa", "n8-20261126-230000-bbbb", "n9-20261127-020000-cccc"}
	slices.SortFunc(names, func(a, b string) int { return strings.Compare(startOf(b), startOf(a)) })
	if names[0][:2] != "n9" || names[2][:2] != "n8" {
		t.Error(names)
	}
}

// Only the servers of this user get its password.
func TestOwnToken(t *testing.T) {
	data := t.TempDir()
	token, _, err := join.Listening(data, "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	for _, address := range []string{"127.0.0.1:4222", "127.0.0.1:4224"} {
		if _, err := token.Publish(data, address, []string{address}); err != nil {
			t.Fatal(err)
		}
	}
	for url, want := range map[string]string{"nats://127.0.0.1:4222": token.Password,
		"nats://127.0.0.1:4223": "", "nats://127.0.0.1:4224": token.Password} {
		if o, err := ownToken(data, url); err != nil || o.Password != want {
			t.Errorf("%s: password %q, want %q (%v)", url, o.Password, want, err)
		}
	}
}
