package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"github.com/spf13/cobra"

	"nqueens/pkg/cli"
	"nqueens/pkg/humanize"
	"nqueens/pkg/join"
	"nqueens/pkg/report"
)

// inviteFlags are the flags of invite.
type inviteFlags struct {
	remove string
	keys   string
	json   bool
	data   dataFlag
}

// inviteCommand is coordinator invite: it gives another owner a user of its own, and takes it away.
func inviteCommand() *cobra.Command {
	var o inviteFlags
	cmd := &cobra.Command{
		Use:   "invite [NAME]",
		Short: "Invite another owner of machines, remove one, or list them",
		Long: `Invite another owner: make the token NAME.token, with which workers and watchers join as
the user NAME. The server of coordinator count --listen accepts it within two seconds, also while it
counts. Send the token to that owner alone. With --remove the server ends the connections of the
user within two seconds, and refuses the token from then on; nobody gets the name again. Without
NAME, list all users that were invited. With --keys, do the same for a server that uses a folder of
the command keys: it goes on with the old list of users until it is reloaded or started.`,
		Example: `  coordinator invite alice
  coordinator invite --remove alice
  coordinator invite
  coordinator invite alice --keys keys`,
		Args: cli.Arguments(0, 1, "one argument, the name of the user, or none"),
		RunE: func(cmd *cobra.Command, args []string) error {
			dir, err := o.folder()
			if err != nil {
				return err
			}
			switch {
			case len(args) > 0 && o.remove != "":
				return cli.Usagef("invite NAME and --remove NAME exclude each other: give one name")
			case len(args) > 0:
				return o.invite(cmd, dir, args[0])
			case o.remove != "":
				return o.removeUser(cmd, dir)
			}
			return o.list(cmd.OutOrStdout(), dir)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.remove, "remove", "",
		"remove the user `NAME`: its token works until the server reads the users again")
	flags.StringVar(&o.keys, "keys", "",
		"`DIR` with the files of coordinator keys, for a server that is not embedded")
	flags.BoolVar(&o.json, "json", false, "print JSON objects, one a line")
	o.data.register(flags)
	return cmd
}

// folder returns the folder of the tokens.
func (o *inviteFlags) folder() (string, error) {
	if o.keys != "" {
		if !join.IsKeys(o.keys) {
			return "", cli.Usagef(
				"--keys %s is not a folder of coordinator keys: %s makes one", o.keys,
				humanize.Command("coordinator", "keys", absolute(o.keys), "--host", "NAME"))
		}
		return o.keys, nil
	}
	store, err := o.data.open()
	if err != nil {
		return "", err
	}
	path, _ := join.Own(store.Path())
	return filepath.Dir(path), nil
}

// listedUser is an invited user in JSON.
type listedUser struct {
	User  string `json:"user"`
	State string `json:"state"`           // "invited" or "removed"
	Token string `json:"token,omitempty"` // path of the token file; empty if the user was removed
}

func (o *inviteFlags) invite(cmd *cobra.Command, dir, user string) error {
	if err := join.ValidateInvited(user); err != nil {
		return cli.Usagef("NAME: %w", err)
	}
	path, err := join.Invite(dir, user)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no server to join yet: type once %s: %w",
			o.data.command("count", "N", "--listen", "ADDR"), err)
	} else if err != nil {
		return err
	}
	if err := o.takeUsers(cmd, dir); err != nil {
		return err
	}
	if o.json {
		return report.WriteJSON(cmd.OutOrStdout(), listedUser{user, "invited", path})
	}
	_, err = fmt.Fprintln(cmd.OutOrStdout(), path)
	return err
}

func (o *inviteFlags) removeUser(cmd *cobra.Command, dir string) error {
	if err := join.ValidateInvited(o.remove); err != nil {
		return cli.Usagef("--remove: %w", err)
	}
	if err := join.Remove(dir, o.remove); err != nil {
		return err
	}
	if err := o.takeUsers(cmd, dir); err != nil {
		return err
	}
	if o.json {
		return report.WriteJSON(cmd.OutOrStdout(), listedUser{User: o.remove, State: "removed"})
	}
	return nil
}

// takeUsers writes the users of a server that is not embedded, and says how that server takes them.
// An embedded server looks for them itself.
func (o *inviteFlags) takeUsers(cmd *cobra.Command, dir string) error {
	if o.keys == "" {
		return nil
	}
	if err := join.WriteUsers(dir); err != nil {
		return err
	}
	_, err := fmt.Fprintln(cmd.ErrOrStderr(),
		"to let the server take it, type on its machine: nats-server --signal reload")
	return err
}

func (o *inviteFlags) list(w io.Writer, dir string) error {
	invitations, err := join.Invitations(dir)
	if err != nil {
		return err
	}
	rows := [][]string{{"USER", "STATE", "TOKEN"}}
	for _, i := range invitations {
		user := listedUser{i.User, "invited", i.Path}
		if i.Removed {
			user.State = "removed"
		}
		if o.json {
			err = errors.Join(err, report.WriteJSON(w, user))
		}
		rows = append(rows, []string{user.User, user.State, user.Token})
	}
	if o.json || len(invitations) == 0 {
		return err
	}
	return report.WriteTable(w, rows, false)
}
