package main

import (
	"errors"
	"slices"

	"github.com/spf13/cobra"

	"nqueens/pkg/bus"
	"nqueens/pkg/cli"
	"nqueens/pkg/humanize"
	"nqueens/pkg/keyring"
	"nqueens/pkg/run"
)

// keysCommand is coordinator keys: who may do what on a NATS server.
func keysCommand(app *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "keys",
		Short: "Make and revoke the keys of a cluster",
		Long: `Make the keys of a cluster in a folder, and say who may do what on its NATS server: a worker
takes tasks and reports results, a watcher sees runs and their progress, a coordinator does
everything with the runs of the server.

The NATS server takes its configuration from keys/server/auth.conf. Commands connect with
--nkey keys/NAME.nkey and --tls-ca keys/ca.crt, or workers with --token-file
keys/worker/join.token instead of both.`,
		Example: `  coordinator keys init`,
		Args:    cli.NoArguments,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(keysInitCommand(app), keysAddCommand(app), keysRevokeCommand(app), keysLiftCommand(app))
	return cmd
}

func keysInitCommand(app *cli.App) *cobra.Command {
	var dir string
	var o keyring.Options
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Make keys, certificates and the server's configuration in a folder",
		Long: `Make in a folder a key for a coordinator, a watcher and a worker, a token with which workers
join, certificates for TLS, and a configuration for the NATS server. A complete folder stays as
it is, except that the server's certificate gets a --host that it lacks.

The files: coordinator.nkey, watcher.nkey and worker.nkey for --nkey; worker/join.token for
--token-file; ca.crt for --tls-ca; users, the list of users; the folders server and coordinator
for these two; ca.key, which signs certificates: keep it away from the cluster.`,
		Example: `  coordinator keys init --host counter.example.org,192.0.2.7`,
		Args:    cli.NoArguments,
		RunE: func(*cobra.Command, []string) error {
			if dir == "" {
				return cli.Usagef("--keys must name a folder")
			}
			for _, host := range o.Hosts {
				if !keyring.IsHost(host) {
					return cli.Usagef("--host must be names or addresses of the server, without ports, not %q", host)
				}
			}
			ring, made, err := keyring.Init(dir, o)
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
	keysFlag(cmd, &dir)
	flags := cmd.Flags()
	flags.StringSliceVar(&o.Hosts, "host", nil, "`NAMES` or addresses under which others reach the server, separated by commas")
	flags.StringVar(&o.ServerDir, "server-dir", "", "`DIR` under which the NATS server sees the folder server, as in a container")
	return cmd
}

// reload tells how the server learns of a change.
const reload = "the NATS server must read its configuration again: nats-server --signal reload, or SIGHUP; an embedded one does so by itself"

func keysAddCommand(app *cli.App) *cobra.Command {
	var dir, publicKey string
	cmd := &cobra.Command{
		Use:   "add ROLE NAME",
		Short: "Add a user with a key of its own",
		Long: `Add a user with a key of its own; the role is coordinator, watcher or worker. The key is made,
in NAME.nkey. Or --public-key names a key that its owner has made, such as with worker key, so that
the private one need not travel.`,
		Example: `  coordinator keys add worker lab-4
  coordinator keys add worker lab-5 --public-key UCBJ4RGRQ72BWE6P47ZOOGVSP6G4K5QXBGVSISA2IKMWVDEJDUEM7RZA`,
		Args:      cli.Arguments("", "a role (coordinator, watcher or worker)", "a name"),
		ValidArgs: []string{string(bus.Worker), string(bus.Watcher), string(bus.Coordinator)},
		RunE: func(_ *cobra.Command, args []string) error {
			ring, err := openRing(dir)
			if err != nil {
				return err
			}
			u, err := ring.Add(bus.Role(args[0]), args[1], publicKey)
			switch {
			case errors.Is(err, keyring.ErrInvalid):
				return cli.Usagef("%w", err)
			case err != nil:
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
		Long: `Remove a user, by name or public key, and delete its key. The server disconnects the user when it
reads its configuration again; an embedded one does so by itself. The runs of a revoked
coordinator stop and can be resumed with a new key.

The name join-token stands for the token with which workers join, which is replaced: workers
that have joined with it need the new file. Users with a key stay.`,
		Example: `  coordinator keys revoke lab-3
  coordinator keys revoke join-token`,
		Args: cli.Arguments("", "the name or the public key of a user, or join-token"),
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) (names []cobra.Completion, _ cobra.ShellCompDirective) {
			ring, err := keyring.Open(dir)
			if err != nil || len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			users, _ := ring.Users() // if they can't be read, none completes the name
			for _, u := range users {
				names = append(names, cobra.CompletionWithDesc(u.Name, string(u.Role)))
			}
			return append(names, keyring.JoinToken), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
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
		Long: `End the quarantine of a worker's public key in every run of this machine, when the cause is found,
such as bad memory. A run quarantines the key of a worker whose count it has proven wrong: it
accepts nothing more from the key, and counts again what only that key had counted. Rejected
results stay rejected.`,
		Example: `  coordinator keys lift UCBJ4RGRQ72BWE6P47ZOOGVSP6G4K5QXBGVSISA2IKMWVDEJDUEM7RZA`,
		Args:    cli.Arguments("the log of the run names it", "the public key of a worker"),
		RunE: func(cmd *cobra.Command, args []string) error {
			store, err := data.open(app.Log)
			if err != nil {
				return err
			}
			if err := run.ValidateKey(args[0]); err != nil {
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
		return nil, cli.Usagef("--keys: %w; coordinator keys init makes keys", err)
	}
	return ring, nil
}
