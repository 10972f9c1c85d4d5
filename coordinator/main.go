// Command coordinator is what a person runs: it splits a count into tasks,
// gives them to workers over NATS JetStream, and puts the total together.
package main

import (
	"os"

	"github.com/spf13/cobra"

	"nqueens/pkg/cli"
)

func main() {
	root := &cobra.Command{
		Use:   "coordinator",
		Short: "Count the solutions of the N-queens problem, exactly, on one machine or many",
	}
	app := cli.New(root)
	root.AddCommand(countCommand(app), resumeCommand(app), runsCommand(app), cancelCommand(app), verifyCommand(), ledgerCommand(), solveCommand(app), cli.HealthCommand("coordinator"))
	os.Exit(app.Main())
}
