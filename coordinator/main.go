// Command coordinator counts the solutions of the N-queens problem: it splits a count into
// tasks, distributes them to workers over NATS JetStream, and computes the total.
package main

import (
	"os"

	"github.com/spf13/cobra"

	"nqueens/pkg/bus"
	"nqueens/pkg/cli"
	"nqueens/pkg/ledger"
)

func main() {
	_, app := newProgram()
	os.Exit(app.Main())
}

// newProgram returns the commands of this program.
func newProgram() (*cobra.Command, *cli.App) {
	root := &cobra.Command{
		Use:   "coordinator",
		Short: "Count the solutions of the N-queens problem, exactly, on one machine or many",
		Long: `Count exactly in how many ways N queens can stand on a board of side N so that none attacks
another. A count is split into tasks for workers, in this process or in others. A ledger
keeps their results, so that an interrupted count resumes where it stopped.`,
		Example: `  coordinator count 16
  coordinator runs
  coordinator solve 8 --limit 1`,
	}
	app := cli.New(root)
	root.AddCommand(countCommand(app), estimateCommand(), resumeCommand(app), runsCommand(app), watchCommand(app),
		stopCommand(app), cancelCommand(app), pruneCommand(app), resetCommand(app), backupCommand(app), restoreCommand(app), verifyCommand(app), ledgerCommand(app),
		solveCommand(app), keysCommand(app), countTaskCommand(), cli.HealthCommand("coordinator"),
		cli.VersionCommand(app, cli.Formats{Protocol: bus.Protocol, Ledger: ledger.Version}))
	return root, app
}
