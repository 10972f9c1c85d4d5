package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"nqueens/pkg/httpserver"
)

// defaultHTTP is the address that the health command asks by default.
const defaultHTTP = "127.0.0.1:8080"

// HealthCommand returns the command that asks a process on this machine whether it is
// ready, for health checks where there is neither a shell nor curl.
func HealthCommand(program string) *cobra.Command {
	var address string
	cmd := &cobra.Command{
		Use:     "health",
		Short:   "Ask a process that was started with --http whether it is ready",
		Long:    `Ask a process that was started with --http whether it is ready: exit 0, or 1 with the reason.`,
		Example: "  " + program + " health --http " + defaultHTTP,
		Args:    NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if address == "" {
				return Usagef("--http is empty: it must be the process's host:port, such as %s", defaultHTTP)
			}
			if err := CheckHTTP(address); err != nil {
				return err
			}
			err := httpserver.Probe(cmd.Context(), address)
			if errors.Is(err, httpserver.ErrNoAnswer) {
				err = fmt.Errorf("%w; was it started with --http %s?", err, address)
			}
			return err
		},
	}
	cmd.Flags().StringVar(&address, "http", defaultHTTP, "`ADDR` that the process was given by its --http, such as 127.0.0.1:8080")
	return cmd
}
