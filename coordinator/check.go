package main

import (
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"nqueens/pkg/bus"
	"nqueens/pkg/cli"
)

// checkCommand is coordinator check: it says whether a server has what a coordinator needs.
func checkCommand(app *cli.App) *cobra.Command {
	var server *cli.Connection
	var replicas int
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Check whether a server has what a coordinator needs",
		Long: `Check JetStream, room, limits of the account, and settings of streams. It creates a small stream
and deletes it again. The exit code is 1 if something is missing.`,
		Example: `  coordinator check --nats nats://127.0.0.1:4222`,
		Args:    cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := server.Check(app.Log); err != nil {
				return err
			}
			if server.URL == "" {
				return cli.Usagef("--nats is missing: the server to check")
			}
			b, err := bus.Connect(bus.Config{URL: server.URL, Credentials: credentials(server), Name: "nqueens check", Replicas: replicas, Log: app.Log})
			if err != nil {
				return err
			}
			defer b.Close()
			missing := 0
			table := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			for _, f := range b.Check(cmd.Context()) {
				state := "ok"
				if f.Err != nil {
					state, f.Found = "missing", f.Err.Error()
					missing++
				}
				_, _ = fmt.Fprintf(table, "%s\t%s\t%s\n", state, f.Need, f.Found) // Flush returns the error
			}
			if err := ignoreEPIPE(table.Flush()); err != nil || missing == 0 {
				return err
			}
			return fmt.Errorf("%s lacks %d of the things that a coordinator needs", b.Server(), missing)
		},
	}
	flags := cmd.Flags()
	flags.IntVar(&replicas, "replicas", 1, "`N` servers that are to keep each stream")
	server = cli.ConnectionFlags(flags, "", "check", "coordinator")
	return cmd
}
