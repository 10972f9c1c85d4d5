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
		Long: `Count, exactly, in how many ways N queens can stand on a board of side N so that none
attacks another. A count is cut into tasks, which the workers of this process or of others
take; what they count is kept in a ledger, so that a count that was interrupted goes on
where it stopped.`,
		Example: `  coordinator count 16
  coordinator runs
  coordinator solve 8 --limit 1`,
	}
	app := cli.New(root)
	root.AddCommand(countCommand(app), estimateCommand(), resumeCommand(app), runsCommand(app), watchCommand(app), cancelCommand(app), verifyCommand(app), ledgerCommand(app), solveCommand(app), cli.HealthCommand("coordinator"))
	os.Exit(app.Main())
}
