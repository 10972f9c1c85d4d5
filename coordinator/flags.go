package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"nqueens/pkg/bus"
	"nqueens/pkg/cli"
	"nqueens/pkg/humanize"
	"nqueens/pkg/ledger"
	"nqueens/pkg/runs"
)

// dataFlag is --data: the folder of the runs on this machine.
type dataFlag struct{ path string }

func (d *dataFlag) register(flags *pflag.FlagSet) {
	flags.StringVar(&d.path, "data", "",
		"`DIR` of the runs on this machine (default $XDG_STATE_HOME/nqueens)")
	_ = cobra.MarkFlagDirname(flags, "data") // fails only for unknown flags
}

// commonFlags registers the flags of commands that use a server or a folder of runs.
func commonFlags(flags *pflag.FlagSet, server *bus.Flags, data *dataFlag) {
	server.Register(flags)
	data.register(flags)
	cli.Heading(flags, "Server and runs", "nats")
}

// open returns the store in the folder of --data, which need not exist yet.
func (d *dataFlag) open() (*runs.Store, error) { return runs.NewStore(d.path) }

// command returns what to type, in any folder, to start a command of this program with the same
// --data.
func (d *dataFlag) command(words ...string) string {
	if d.path != "" {
		words = append(words, "--data", absolute(d.path))
	}
	return humanize.Command("coordinator", words...)
}

// absolute returns a path that is right in any folder.
func absolute(path string) string {
	if found, err := filepath.Abs(path); err == nil {
		return found
	}
	return path
}

// resume returns what to type to go on with a run of this machine, with the flags of its last
// coordinator.
func (d *dataFlag) resume(store *runs.Store, run string) string {
	known := pflag.NewFlagSet("", pflag.ContinueOnError)
	new(sessionFlags).register(known)
	flags := ledger.LastFlags(store.Folder(run))
	if known.Parse(flags) != nil || known.NArg() > 0 { // the file may come from elsewhere
		flags = nil
	}
	return d.command(append([]string{"resume", run}, flags...)...)
}

// serverCommand returns what to type to start a command of this program with the same server.
func serverCommand(server *bus.Flags, words ...string) string {
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	new(bus.Flags).Register(flags)
	for name, value := range map[string]string{
		"nats": server.URL, "join": server.Join, "creds": server.Creds, "nkey": server.NKey,
		"user": server.User, "tls-ca": server.TLSCA,
	} {
		_ = flags.Set(name, value) // each takes any text
	}
	flags.VisitAll(func(f *pflag.Flag) {
		switch value := f.Value.String(); {
		case value == "":
		case f.Name == "nats" && strings.Contains(value, "@"): // it has a password
			words = append(words, "--nats", "URL")
		case slices.Contains(bus.Files, f.Name):
			words = append(words, "--"+f.Name, absolute(value))
		default:
			words = append(words, "--"+f.Name, value)
		}
	})
	return humanize.Command("coordinator", words...)
}

// find returns the store and the name of a run. The first argument is this name or its beginning.
// Without arguments, it is the run that [runs.Store.Newest] returns.
func (d *dataFlag) find(
	args []string, purpose string, wanted ...func(*runs.Run) bool,
) (s *runs.Store, name string, err error) {
	if s, err = d.open(); err != nil {
		return nil, "", err
	}
	if len(args) > 0 {
		name, err = s.Find(args[0])
	} else {
		name, err = s.Newest(purpose, wanted...)
	}
	if errors.Is(err, runs.ErrNoRun) {
		err = fmt.Errorf("%w: %s lists them, %s starts one", err, d.command("runs"),
			d.command("count", "N"))
	}
	return s, name, err
}

// completeRun completes the name of a run on this machine. It shows the runs with their states, the
// newest first.
func (d *dataFlag) completeRun(
	_ *cobra.Command, _ []string, prefix string,
) (names []string, _ cobra.ShellCompDirective) {
	const directive = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	// cobra completes before flags are set from variables
	d.path = cmp.Or(d.path, os.Getenv(cli.EnvVar("data")))
	store, err := d.open()
	if err != nil {
		return nil, directive
	}
	list, _ := store.List() // without a list there are no completions
	for i := range list {
		if r := &list[i]; strings.HasPrefix(r.Name, prefix) {
			names = append(names, cobra.CompletionWithDesc(r.Name, r.Status()))
		}
	}
	return names, directive
}

// Arguments that several commands take.
const runArgument = "one argument, the name of a run or its beginning"

var (
	oneN         = cli.Arguments(1, 1, "one argument, the side N of the board")
	oneRun       = cli.Arguments(1, 1, runArgument)
	oneRunOrNone = cli.Arguments(0, 1, runArgument+", or none")
)

// shareFlag registers a flag for a share of the tasks, such as 1%.
func shareFlag(flags *pflag.FlagSet, p *float64, name, usage string) {
	cli.Checked(flags, name, "1%", usage, func(text string) error {
		number, isPercent := strings.CutSuffix(text, "%")
		percent, err := strconv.ParseFloat(number, 64)
		if err != nil || !isPercent && percent != 0 || !(percent >= 0 && percent <= 100) {
			return fmt.Errorf("must be a share from 0%% to 100%%, such as 1%%, not %q", text)
		}
		*p = percent / 100
		return nil
	})
}
