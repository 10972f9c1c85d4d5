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
	root.Long, root.Example, root.Args, root.RunE = run.Long, run.Example, cli.NoArguments, run.RunE
	root.Flags().AddFlagSet(run.Flags())
	root.AddCommand(run, taskCommand(app), benchCommand(app), kernelsCommand(app), cli.HealthCommand("worker"),
		cli.VersionCommand(app, cli.Formats{Protocol: bus.Protocol}))
	return root, app
}
