// Command worker takes tasks from a NATS server, counts them, and publishes the results.
package main

import (
	"os"

	"github.com/spf13/cobra"

	"nqueens/pkg/bus"
	"nqueens/pkg/cli"
)

func main() {
	_, app := newProgram()
	os.Exit(app.Main())
}

// newProgram returns the commands of this program.
func newProgram() (*cobra.Command, *cli.App) {
	root := &cobra.Command{
		Use:   "worker",
		Short: "Count tasks of the N-queens runs on a NATS server",
	}
	app := cli.New(root)
	run := runCommand(app)
	// Without a subcommand, worker does what worker run does.
	root.Long = "Take tasks from a NATS server and count them until stopped: worker run --help has the flags."
	root.Example, root.Args, root.RunE = run.Example, cli.NoArguments, run.RunE
	root.Flags().SortFlags = false
	root.Flags().AddFlagSet(run.Flags())
	cli.AddGroups(root,
		cli.Group{Title: "In a cluster", Commands: []*cobra.Command{run, keyCommand(app), cli.HealthCommand("worker")}},
		cli.Group{Title: "Alone", Commands: []*cobra.Command{benchCommand(app), kernelsCommand(app), taskCommand(app)}},
	)
	root.AddCommand(cli.VersionCommand(app, cli.Formats{Protocol: bus.Protocol}))
	return root, app
}
