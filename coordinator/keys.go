package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"nqueens/pkg/cli"
	"nqueens/pkg/join"
)

// keysCommand is coordinator keys: it writes the files of a NATS server that authenticates its
// clients.
func keysCommand() *cobra.Command {
	var hosts []string
	var renew bool
	cmd := &cobra.Command{
		Use:   "keys DIR --host NAME[,NAME]",
		Short: "Write the configuration of a NATS server, and the tokens to join it",
		Long: `Write to DIR a configuration and a certificate for a nats-server, and the token files with
which a coordinator, workers and watchers join it. Existing tokens stay valid, and their files get
the new names. With --renew the certificate and all tokens are made again: only the old ones work
until the server reads the files anew (nats-server --signal reload). coordinator invite NAME --keys
DIR adds a user.`,
		Example: `  coordinator keys keys --host 192.0.2.1
  (cd keys && nats-server -c nats.conf)
  coordinator count 20 --join keys/coordinator.token
  worker --join keys/join.token`,
		Args: cli.Arguments(1, 1, "one argument, the folder of the files"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(hosts) == 0 {
				return cli.Usagef("--host is missing: give a name or address of the server, such as --host " +
					"192.0.2.1")
			}
			for _, host := range hosts {
				if host == "" || strings.ContainsAny(host, " \t\n/@\"'") {
					return cli.Usagef("--host must be a name or an address, with a port or without, not %q", host)
				}
			}
			paths, err := join.Keys(args[0], hosts, renew)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), strings.Join(paths, "\n"))
			return err
		},
	}
	cmd.Flags().StringSliceVar(&hosts, "host", nil,
		"`NAMES` or addresses of the server, separated by commas")
	cmd.Flags().BoolVar(&renew, "renew", false,
		"replace the certificate and the tokens: only the old ones work until the server is reloaded")
	return cmd
}
