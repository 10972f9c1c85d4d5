package main

import (
	"slices"

	"github.com/spf13/cobra"

	"nqueens/pkg/bus"
	"nqueens/pkg/cli"
	"nqueens/pkg/humanize"
	"nqueens/pkg/identity"
	"nqueens/pkg/keyring"
	"nqueens/pkg/queens"
)

// keysCommand is coordinator keys: who may do what on a NATS server.
func keysCommand(app *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "keys",
		Short: "Make and revoke the keys of a cluster",
		Long: `Make the keys of a cluster, and say who may do what on its NATS server. A worker may take
tasks and report results, a watcher may see runs and their progress, a coordinator may do
everything with the runs of the server.

The NATS server takes its configuration from keys/server/auth.conf. All commands that
connect take --nkey keys/NAME.nkey and --tls-ca keys/ca.crt; workers may take
--token-file keys/worker/join.token instead of both.`,
		Example: `  coordinator keys init keys`,
		Args:    cli.NoArguments,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(keysInitCommand(app), keysAddCommand(app), keysRevokeCommand(app), keysLiftCommand(app))
	return cmd
}

func keysInitCommand(app *cli.App) *cobra.Command {
	var o keyring.Options
	cmd := &cobra.Command{
		Use:   "init DIR",
		Short: "Make keys, certificates and the server's configuration in a folder",
		Long: `Make in a folder a key for a coordinator, a watcher and a worker, a token with which
workers join, certificates for TLS, and a configuration for the NATS server. A folder that
has them stays as it is; only the server's certificate is made again if it lacks a --host.
A folder that has some of the files and lacks others is refused.

The files: coordinator.nkey, watcher.nkey and worker.nkey for --nkey; worker/join.token
for --token-file, which also has the certificate; ca.crt for --tls-ca; users, the list of
users; server, the folder that the NATS server needs, with auth.conf for its
configuration; coordinator, the folder that a coordinator needs, with copies; ca.key,
which signs other certificates: keep it away from the cluster.`,
		Example: `  coordinator keys init keys --host counter.example.org,192.0.2.7`,
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 || args[0] == "" {
				return cli.Usagef("takes one argument, the folder for the keys")
			}
			for _, host := range o.Hosts {
				if !keyring.IsHost(host) {
					return cli.Usagef("--host must be names or addresses of the server, without ports, not %q", host)
				}
			}
			ring, made, err := keyring.Init(args[0], o)
			if err != nil {
				return err
			}
			message := "changed what the server reads; " + reload
			switch {
			case len(made) == 0:
				message = "the folder has all keys already: nothing is changed"
			case slices.Contains(made, "ca.crt"):
				message = "made keys for a cluster"
			}
			app.Log.Info().Str("folder", ring.Dir()).Str("server", ring.ServerConfig()).Strs("made", made).Msg(message)
			return nil
		},
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&o.Hosts, "host", nil, "`NAMES` or addresses under which others reach the server, separated by commas, "+
		"beside localhost, nats and the name of this machine")
	flags.StringVar(&o.ServerDir, "server-dir", "", "`DIR` under which the NATS server sees DIR/server, as in a container")
	return cmd
}

// reload tells how the server learns of a change.
const reload = "the NATS server must read its configuration again: nats-server --signal reload, or SIGHUP; an embedded one does so by itself"

func keysAddCommand(app *cli.App) *cobra.Command {
	var dir, publicKey string
	cmd := &cobra.Command{
		Use:   "add ROLE NAME",
		Short: "Add a user with a key of its own",
		Long: `Add a user with a key of its own to a folder of keys. The role is coordinator, watcher or
worker. The key is made, in NAME.nkey; or --public-key names the key of somebody who has
made it, such as by worker --public-key, so that the private key need not travel.

The NATS server must read its configuration again; an embedded one does so by itself.`,
		Example: `  coordinator keys add worker lab-4 --keys keys
  coordinator keys add worker lab-5 --public-key UCBJ4RGRQ72BWE6P47ZOOGVSP6G4K5QXBGVSISA2IKMWVDEJDUEM7RZA`,
		ValidArgs: []string{string(bus.Coordinator), string(bus.Watcher), string(bus.Worker)},
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return cli.Usagef("takes two arguments, a role (coordinator, watcher or worker) and a name")
			}
			role := bus.Role(args[0])
			if err := role.Validate(); err != nil {
				return cli.Usagef("%w", err)
			}
			if err := keyring.ValidateName(args[1]); err != nil {
				return cli.Usagef("%w", err)
			}
			if publicKey != "" && !identity.IsKey(publicKey) {
				return cli.Usagef("--public-key must be the public key of a user, U and 55 letters and digits, not %.80q", publicKey)
			}
			ring, err := openRing(dir)
			if err != nil {
				return err
			}
			u, err := ring.Add(role, args[1], publicKey)
			if err != nil {
				return err
			}
			app.Log.Info().Str("user", u.Name).Str("role", string(u.Role)).Str("key", u.Key).Msg("added; " + reload)
			return nil
		},
	}
	keysFlag(cmd, &dir)
	cmd.Flags().StringVar(&publicKey, "public-key", "", "public `KEY` of the user, who has the private one")
	return cmd
}

func keysRevokeCommand(app *cli.App) *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:   "revoke NAME",
		Short: "Remove a user, or replace the join token",
		Long: `Remove a user, by name or public key, from a folder of keys, and delete its key. When the
NATS server reads its configuration again, it disconnects the user. An embedded server
does so by itself, within seconds. The runs of a coordinator that is revoked stop, and lose
nothing: they resume with a new key, made by keys add coordinator NAME. A coordinator with
an embedded server counts to the end.

The name join-token stands for the token with which workers join. It is replaced by a new
one: workers that have joined with the old one are disconnected, and need the new file.
Users with a key stay.`,
		Example: `  coordinator keys revoke lab-3 --keys keys
  coordinator keys revoke join-token --keys keys`,
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return cli.Usagef("takes one argument, the name or the public key of a user, or join-token")
			}
			ring, err := openRing(dir)
			if err != nil {
				return err
			}
			if args[0] == keyring.JoinToken {
				if err := ring.RenewToken(); err != nil {
					return err
				}
				app.Log.Info().Str("token", ring.TokenFile()).Msg("replaced the token: workers without a key of their own need this file; " + reload)
				return nil
			}
			u, err := ring.Revoke(args[0])
			if err != nil {
				return err
			}
			event, message := app.Log.Info(), "revoked; "
			if u.Role == bus.Coordinator {
				event = app.Log.Warn()
				message = "revoked a coordinator: its runs stop when the server disconnects it, and resume with a new key, made by " +
					humanize.ShellWords("coordinator", "keys", "add", "coordinator", u.Name, "--keys", dir) + "; "
			}
			event.Str("user", u.Name).Str("role", string(u.Role)).Str("key", u.Key).Msg(message + reload)
			return nil
		},
	}
	keysFlag(cmd, &dir)
	return cmd
}

func keysLiftCommand(app *cli.App) *cobra.Command {
	var data dataFlag
	cmd := &cobra.Command{
		Use:   "lift KEY",
		Short: "End the quarantine of a worker's key",
		Long: `End the quarantine of a worker's public key in every run of this machine, whether a
coordinator works on the run or not. A run quarantines the key of a worker whose count it
has proven wrong: it accepts nothing more from the key, and counts again what only that
worker had counted. Lift it when the cause is found, such as bad memory.

The results that were rejected stay so. A key that counts wrong again is quarantined again.
It is an error if no run has the key in quarantine.`,
		Example: `  coordinator keys lift UCBJ4RGRQ72BWE6P47ZOOGVSP6G4K5QXBGVSISA2IKMWVDEJDUEM7RZA`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return cli.Usagef("takes one argument, the public key of a worker, not %d: the log of the run names it", len(args))
			}
			store, err := data.open(app.Log)
			if err != nil {
				return err
			}
			if err := queens.ValidateKey(args[0]); err != nil {
				return cli.Usagef("%w", err)
			}
			runs, err := store.Lift(cmd.Context(), args[0])
			for _, name := range runs {
				app.Log.Info().Str("key", args[0]).Str("run", name).Msg("the quarantine is lifted")
			}
			return withHint(err)
		},
	}
	data.register(cmd.Flags())
	return cmd
}

func keysFlag(cmd *cobra.Command, dir *string) {
	cmd.Flags().StringVar(dir, "keys", "keys", "`DIR` of the keys")
	_ = cobra.MarkFlagDirname(cmd.Flags(), "keys") // fails only for unknown flags
}

func openRing(dir string) (*keyring.Ring, error) {
	ring, err := keyring.Open(dir)
	if err != nil {
		return nil, cli.Usagef("--keys: %w; coordinator keys init DIR makes keys", err)
	}
	return ring, nil
}
