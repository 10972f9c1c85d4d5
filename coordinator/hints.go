package main

import (
	"errors"
	"fmt"
	"slices"

	"nqueens/pkg/audit"
	"nqueens/pkg/bus"
	"nqueens/pkg/cli"
	"nqueens/pkg/keyring"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
	"nqueens/pkg/runstore"
	"nqueens/pkg/session"
)

// withHint adds to an error of a package which command or flag may help.
func withHint(err error) error {
	hint := ""
	var early *audit.EarlyContradictionError
	var active *session.ActiveError
	var token *keyring.TokenAuthorityError
	switch {
	case errors.As(err, new(*run.AmbiguousError)):
		return cli.Usagef("%w", err)
	case errors.Is(err, keyring.ErrList):
		return cli.Usagef("--admitted: %w", err)
	case errors.As(err, &token):
		return cli.Usagef("--token-file: %w: leave it out, and give workers %s; or name the server that it is of with --nats", err, token.OwnToken)
	case errors.Is(err, session.ErrUnique):
		return cli.Usagef("--unique: %w: leave it out", err)
	case errors.As(err, &early):
		hint = "only a new count helps: " + restartCommand(&early.Manifest)
	case errors.Is(err, session.ErrPreviousContradicted):
		hint = "coordinator verify may tell which count is wrong, --new starts another"
	case errors.Is(err, runstore.ErrNotResumable):
		hint = "--new starts another count"
	case errors.Is(err, runstore.ErrNotBackup):
		hint = "name another file"
	case errors.Is(err, runstore.ErrHasLedger):
		hint = "resume that run, or move its folder away first"
	case errors.Is(err, runstore.ErrFolder):
		hint = "--data names another folder"
	case errors.Is(err, runstore.ErrNoRun), errors.Is(err, bus.ErrNoRecord):
		hint = "coordinator runs lists the runs"
	case errors.Is(err, runstore.ErrNotActive):
		hint = "there is nothing to stop on this machine"
	case errors.Is(err, runstore.ErrNotQuarantined):
		hint = "--data names the folder of other runs"
	case errors.Is(err, runstore.ErrNothingToResume):
		hint = "coordinator runs lists the runs; a run whose ledger is elsewhere must be named"
	case errors.Is(err, runstore.ErrOptions):
		hint = "name the server and the other flags again; --nats= stands for the embedded server"
	case errors.Is(err, bus.ErrReplicas):
		hint = "name the servers of a cluster with --nats, or ask for fewer --replicas"
	case errors.As(err, &active):
		hint = fmt.Sprintf("resume it where its ledger is; if that coordinator has died, wait %v and try again, "+
			"or take the run over with coordinator resume %s --take-over and the other flags of this command", run.StaleAfter, active.Run)
	case errors.Is(err, queens.ErrCancelled):
		hint = "coordinator count starts another"
	default:
		return err
	}
	return fmt.Errorf("%w: %s", err, hint)
}

// restartCommand returns the command line that counts the board of a manifest again, from
// the beginning.
func restartCommand(m *queens.Manifest) string {
	line := fmt.Sprintf("coordinator count %d", m.N)
	for _, s := range m.Placed {
		line += fmt.Sprintf(" --place %v", s)
	}
	if m.Symmetry != queens.Full && len(m.Placed) == 0 {
		line += fmt.Sprintf(" --symmetry %s", m.Symmetry)
	}
	// If the tasks came out like this without --depth, it changes nothing.
	differs := func(c queens.ClassPlan) bool { return c.Batch != 1 || c.Depth != m.Classes[0].Depth }
	if len(m.Classes) > 0 && !slices.ContainsFunc(m.Classes, differs) {
		line += fmt.Sprintf(" --depth %d", m.Classes[0].Depth)
	}
	return line + " --new"
}
