// Command worker asks coordinators on a NATS server for tasks, counts their solutions, and delivers
// the counts.
package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"nqueens/pkg/bus"
	"nqueens/pkg/cli"
	"nqueens/pkg/page"
)

func main() {
	_, app := newProgram()
	os.Exit(app.Main())
}

// newProgram returns the commands of this program.
func newProgram() (*cobra.Command, *cli.App) {
	var app *cli.App
	root := runCommand(&app)
	app = cli.NewApp(root)
	app.Add("Without a server", benchCommand(), kernelsCommand(app), taskCommand())
	app.Add("Others", healthCommand(),
		cli.VersionCommand(app, fmt.Sprintf("protocol %d", bus.Protocol)))
	return root, app
}

// defaultPage is the address of a page in examples, and the one that health asks by default.
const defaultPage = "127.0.0.1:8080"

// healthCommand is worker health: it asks a worker whether the worker is well.
func healthCommand() *cobra.Command {
	var address string
	cmd := &cobra.Command{
		Use:   "health",
		Short: "Ask a worker that was started with --http whether it is well",
		Long: "Ask a worker that was started with --http whether it is well: exit 0, or 1 with the " +
			"reason.",
		Example: "  worker health --http 127.0.0.1:8080",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return page.Probe(cmd.Context(), address) },
	}
	cli.Address(cmd.Flags(), &address, "http", defaultPage, "`ADDR` of the --http of that worker",
		defaultPage)
	return cmd
}
