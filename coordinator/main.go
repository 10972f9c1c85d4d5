// Command coordinator counts the solutions of the N-queens problem. It splits a count into tasks,
// hands them out to workers over NATS, records the counts in a ledger, and computes the total.
package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"nqueens/pkg/bus"
	"nqueens/pkg/cli"
	"nqueens/pkg/count"
	"nqueens/pkg/ledger"
	"nqueens/pkg/page"
)

func main() {
	_, app := newProgram()
	os.Exit(app.Main())
}

// newProgram returns the commands of this program.
func newProgram() (*cobra.Command, *cli.App) {
	root := &cobra.Command{
		Use:   "coordinator COMMAND",
		Short: "Count the solutions of the N-queens problem, exactly, on one machine or many",
		Long: `Count exactly in how many ways N queens can stand on a board of side N so that none attacks
another: on this machine with one command, or with workers on many. An interrupted count resumes
where it stopped.`,
		Example: `  coordinator count 18
  coordinator estimate 20
  coordinator runs`,
	}
	app := cli.NewApp(root)
	app.Add("Count", countCommand(app), estimateCommand(app), solveCommand(app))
	app.Add("Runs", runsCommand(app), watchCommand(app), resumeCommand(app), verifyCommand(app),
		ledgerCommand(app), reportCommand(app), rmCommand(app))
	formats := fmt.Sprintf("protocol %d, ledger format %d", bus.Protocol, ledger.Format)
	app.Add("Others", inviteCommand(), keysCommand(), healthCommand(), recountCommand(),
		cli.VersionCommand(app, formats))
	return root, app
}

// recountCommand is the command that the coordinator starts as a child process to recount a task.
func recountCommand() *cobra.Command {
	return &cobra.Command{
		Use: count.RecountCommand, Hidden: true, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return count.ServeRecount(cmd.Context(), cmd.InOrStdin(), cmd.OutOrStdout())
		},
	}
}

// healthCommand is coordinator health: it asks a process whether the process is well.
func healthCommand() *cobra.Command {
	var address string
	cmd := &cobra.Command{
		Use:   "health",
		Short: "Ask a process that was started with --http whether it is well",
		Long: "Ask a process that was started with --http whether it is well: exit 0, or 1 with the " +
			"reason.",
		Example: "  coordinator health --http 127.0.0.1:8080",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return page.Probe(cmd.Context(), address) },
	}
	cli.Address(cmd.Flags(), &address, "http", defaultPage, "`ADDR` of the --http of that process",
		defaultPage)
	return cmd
}

// defaultPage is the address of a page in examples, and the one that health asks by default.
const defaultPage = "127.0.0.1:8080"
