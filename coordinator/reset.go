package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"nqueens/pkg/bus"
	"nqueens/pkg/cli"
)

// resetCommand is coordinator reset: it deletes from a server what it can't use any more.
func resetCommand(app *cli.App) *cobra.Command {
	var server *cli.Connection
	var yes bool
	var words []cobra.Completion
	for _, part := range bus.Parts {
		words = append(words, cobra.CompletionWithDesc(part.Word, part.Name))
	}
	cmd := &cobra.Command{
		Use:   "reset results|records|tasks",
		Short: "Delete from a damaged server what all runs keep there",
		Long: `Delete what all runs keep on a server: results, the stream NQ_RESULTS; records, the bucket
nq_runs; or tasks, the stream NQ_TASKS. A coordinator logs this command when the server has
lost what a stream needs, as after damage to its disk. Without --yes it only prints what would
be lost. Running coordinators make again what was deleted, and count again what was lost.`,
		Example:   `  coordinator reset results --nats nats://127.0.0.1:4222 --yes`,
		Args:      cli.Arguments("", "results, records or tasks"),
		ValidArgs: words,
		RunE: func(cmd *cobra.Command, args []string) error {
			part, err := bus.ParsePart(args[0])
			if err != nil {
				return cli.Usagef("%w", err)
			}
			if err := server.Check(app.Log); err != nil {
				return err
			}
			if server.URL == "" {
				return cli.Usagef("--nats is missing: the server on which to delete %s", part.Name)
			}
			if !yes {
				if _, err := fmt.Fprintf(cmd.OutOrStdout(), "%s has %s\n", part.Name, part.Loses); err != nil {
					return ignoreEPIPE(err)
				}
				return cli.Usagef("nothing was deleted: to delete %s for all runs of the server, add --yes", part.Name)
			}
			return withServer(app, server, "reset "+part.Word, func(b *bus.Bus) error {
				if err := b.Reset(cmd.Context(), part); err != nil {
					return fmt.Errorf("reset %s on %s: %w", part.Word, b.Server(), err)
				}
				_, err := fmt.Fprintf(cmd.OutOrStdout(), "deleted %s\n", part.Name)
				return ignoreEPIPE(err)
			})
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&yes, "yes", false, "delete it")
	server = cli.ConnectionFlags(flags, "", "delete from", "coordinator")
	return cmd
}
