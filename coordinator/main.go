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
another: on this machine with one command, or with workers on many. An interrupted count
resumes where it stopped.`,
		Example: `  coordinator count 16
  coordinator estimate 20
  coordinator runs`,
	}
	app := cli.New(root)
	cli.AddGroups(root,
		cli.Group{Title: "Count", Commands: []*cobra.Command{countCommand(app), estimateCommand(), solveCommand(app)}},
		cli.Group{Title: "Runs", Commands: []*cobra.Command{
			runsCommand(app), watchCommand(app), resumeCommand(app), stopCommand(app), cancelCommand(app), pruneCommand(app),
		}},
		cli.Group{Title: "Ledgers", Commands: []*cobra.Command{verifyCommand(app), ledgerCommand(app), backupCommand(app), restoreCommand(app)}},
		cli.Group{Title: "Clusters", Commands: []*cobra.Command{keysCommand(app), checkCommand(app), resetCommand(app), cli.HealthCommand("coordinator")}},
	)
	root.AddCommand(countTaskCommand(), cli.VersionCommand(app, cli.Formats{Protocol: bus.Protocol, Ledger: ledger.Version}))
	return root, app
}
