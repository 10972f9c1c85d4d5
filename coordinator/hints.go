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
	"nqueens/pkg/split"
	"nqueens/pkg/watch"
)

// hints say which command or flag may help against an error of a package.
var hints = []struct {
	err  error
	hint string
}{
	{session.ErrPreviousContradicted, "coordinator verify may tell which count is wrong, --new starts another"},
	{runstore.ErrNotResumable, "--new starts another count"},
	{runstore.ErrNotBackup, "name another file"},
	{runstore.ErrHasLedger, "resume that run, or move its folder away first"},
	{runstore.ErrFolder, "--data names another folder"},
	{runstore.ErrNoRun, "coordinator runs lists the runs"},
	{bus.ErrNoRecord, "coordinator runs lists the runs"},
	{runstore.ErrNotActive, "there is nothing to stop on this machine"},
	{runstore.ErrNotQuarantined, "--data names the folder of other runs"},
	{runstore.ErrNothingToResume, "coordinator runs lists the runs; a run whose ledger is elsewhere must be named"},
	{runstore.ErrOptions, "remove that file, and name the server and the other flags again"},
	{bus.ErrReplicas, "name the servers of a cluster with --nats, or ask for fewer --replicas"},
	{split.ErrTooLarge, "count with a smaller --depth"},
	{watch.ErrNoRuns, "coordinator count N --nats starts one; coordinator runs lists those of this machine"},
	{watch.ErrNotActive, "it has ended or is on another server; coordinator runs, where its ledger is, says how it ended"},
	{watch.ErrEndMissed, "coordinator resume RUN, where its ledger is, prints its total"},
	{watch.ErrOpenServer, "its coordinator has printed the total, and coordinator resume RUN, where its ledger is, prints it again"},
	{run.ErrCancelled, "coordinator count starts another"},
	{session.ErrActive, fmt.Sprintf("resume it where its ledger is; if that coordinator has died, wait %v and try again, or take the run over with "+
		"coordinator resume RUN --take-over and the other flags of this command", run.StaleAfter)},
}

// withHint adds to an error of a package which command or flag may help. An error of the command line is one of
// [cli.Usagef].
func withHint(err error) error {
	var early *audit.EarlyContradictionError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, run.ErrAmbiguous):
		return cli.Usagef("%w", err)
	case errors.Is(err, keyring.ErrList):
		return cli.Usagef("--admitted: %w", err)
	case errors.Is(err, session.ErrUnique):
		return cli.Usagef("--unique: %w: leave it out", err)
	case errors.Is(err, session.ErrRedundancy):
		return cli.Usagef("--redundancy must be given, since %w: with --redundancy 2 two admitted keys count each task, "+
			"in twice the core time; with --redundancy 1 one key does", err)
	case errors.Is(err, session.ErrVoters):
		return cli.Usagef("--redundancy: %w: --listen 0.0.0.0:4222 lets workers with keys of their own join; for the workers of a "+
			"server, --admitted names a file with their public keys, or --nkey the key of a folder of keys; with --redundancy 1 --new "+
			"one key counts each task of another run", err)
	case errors.As(err, &early):
		return fmt.Errorf("%w: only a new count helps: %s", err, restartCommand(&early.Manifest))
	}
	for _, h := range hints {
		if errors.Is(err, h.err) {
			return fmt.Errorf("%w: %s", err, h.hint)
		}
	}
	return err
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
