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
		words = append(words, cobra.CompletionWithDesc(string(part), part.Name()))
	}
	cmd := &cobra.Command{
		Use:   "reset results|records|tasks",
		Short: "Delete from a server what all runs keep there, when it does not work any more",
		Long: `Delete what all runs keep on a server: results, the stream NQ_RESULTS; records, the bucket
nq_runs; or tasks, the stream NQ_TASKS. A coordinator logs this command when the server has
lost what a stream needs, as after damage to its disk. Without --yes, print what the command
would delete and what is lost with it, and delete nothing.

Coordinators that are running make again what was deleted, and continue. No total becomes
wrong: what was lost is counted again.`,
		Example:   `  coordinator reset results --nats nats://127.0.0.1:4222 --yes`,
		ValidArgs: words,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return cli.Usagef("takes one argument, results, records or tasks, not %d", len(args))
			}
			part := bus.Part(args[0])
			if err := part.Validate(); err != nil {
				return cli.Usagef("%w", err)
			}
			if err := server.Check(app.Log); err != nil {
				return err
			}
			if server.URL == "" {
				return cli.Usagef("--nats is missing: the server on which to delete %s", part.Name())
			}
			if !yes {
				if _, err := fmt.Fprintf(cmd.OutOrStdout(), "%s has %s\n", part.Name(), part.Loses()); err != nil {
					return ignoreEPIPE(err)
				}
				return cli.Usagef("nothing was deleted: to delete %s for all runs of the server, add --yes", part.Name())
			}
			return withServer(app, server, "reset "+args[0], func(b *bus.Bus) error {
				if err := b.Reset(cmd.Context(), part); err != nil {
					return fmt.Errorf("reset %s on %s: %w", part, b.Server(), err)
				}
				_, err := fmt.Fprintf(cmd.OutOrStdout(), "deleted %s\n", part.Name())
				return ignoreEPIPE(err)
			})
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&yes, "yes", false, "delete it")
	server = cli.ConnectionFlags(flags, "", "delete from")
	return cmd
}
