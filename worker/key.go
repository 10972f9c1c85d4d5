package main

import (
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"nqueens/pkg/cli"
	"nqueens/pkg/identity"
)

// identityFlag is --identity: the file of the key that signs results.
type identityFlag struct{ path string }

func (f *identityFlag) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.path, "identity", "", "`FILE` of the key that signs results, made if there is none "+
		"(default that of --nkey, or else $XDG_STATE_HOME/nqueens/worker.key)")
	_ = cobra.MarkFlagFilename(flags, "identity") // fails only for unknown flags
}

// load returns the key of the flag, or else the one to connect with, or else that of the state folder. It makes
// the key of a file that is missing.
func (f *identityFlag) load(nkey *identity.Identity) (*identity.Identity, error) {
	path := f.path
	if path == "" && nkey != nil {
		return nkey, nil
	}
	if path == "" {
		folder, err := identity.StateFolder()
		if err != nil {
			return nil, fmt.Errorf("the worker's key: %w: name its file with --identity", err)
		}
		path = filepath.Join(folder, "worker.key")
	}
	id, err := identity.LoadOrCreate(path)
	switch {
	case err == nil:
		return id, nil
	case f.path != "":
		return nil, cli.Usagef("--identity: %w", err)
	}
	return nil, fmt.Errorf("%w: name another file with --identity", err)
}

// keyCommand is worker key: it prints the public key of a worker.
func keyCommand(*cli.App) *cobra.Command {
	var file identityFlag
	cmd := &cobra.Command{
		Use:   "key",
		Short: "Print the public key of this machine's worker",
		Long: `Print the public key that belongs to the file of --identity, for coordinator keys add
--public-key or a list of --admitted. Make the key if there is none. It connects to no server.`,
		Example: `  worker key
  worker key --identity worker.nkey`,
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			id, err := file.load(nil)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), id.Key())
			return err
		},
	}
	file.register(cmd.Flags())
	cmd.Flag("identity").Usage = "`FILE` of the key (default $XDG_STATE_HOME/nqueens/worker.key)"
	return cmd
}
