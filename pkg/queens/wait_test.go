package queens_test

import (
	"strings"
	"testing"

	"nqueens/pkg/queens"
)

// These are the sentences of whoever waits: each says for what, why, and what helps if somebody can
// help.
func TestWaitSentences(t *testing.T) {
	seen := make(map[queens.Reason]bool)
	for _, c := range []struct {
		wait queens.Wait
		want string
	}{
		{queens.Wait{Reason: queens.NoServer, Why: "nothing listens there"},
			"waiting for a server: nothing listens there; what helps: start the server, or correct its address"},
		{queens.Wait{Reason: queens.NoServer, Why: "the server is full",
			Help: "raise its max_connections"},
			"waiting for a server: the server is full; what helps: raise its max_connections"},
		{queens.Wait{Reason: queens.NoServer},
			"waiting for a server; what helps: start the server, or correct its address"},
		{queens.Wait{Reason: queens.NoWorkers, Why: "none is present"},
			"waiting for workers: none is present; what helps: start a worker"},
		{queens.Wait{Reason: queens.NoWorkers, Why: "none is present",
			Help: "worker --join /a/join.token"},
			"waiting for workers: none is present; what helps: worker --join /a/join.token"},
		{queens.Wait{Reason: queens.OtherMachine, Why: "a redundancy of 2 needs another one"},
			"waiting for another witness: a redundancy of 2 needs another one; what helps: start a worker on another machine, or of an invited user"},
		{queens.Wait{Reason: queens.WorkersReport}, "waiting for workers to say what they hold"},
		{queens.Wait{Reason: queens.Recounting, Why: "2 of 9 tasks"},
			"waiting for recounts by the coordinator: 2 of 9 tasks"},
		{queens.Wait{Reason: queens.SpotChecks}, "waiting for spot checks"},
		{queens.Wait{Reason: queens.Auditing}, "auditing the ledger"},
		{queens.Wait{Reason: queens.NoCoordinator},
			"waiting for a coordinator; what helps: start or resume a count on this server"},
		{queens.Wait{Reason: queens.NoCoordinator, Why: "none is heard on nats://a:4222"},
			"waiting for a coordinator: none is heard on nats://a:4222; what helps: start or resume a count on this server"},
		{queens.Wait{Reason: queens.SilentOne, Why: "run n20-a is silent"},
			"waiting for the coordinator: run n20-a is silent; what helps: resume the run where its ledger is"},
		{queens.Wait{Reason: queens.SilentOne, Why: "run n20-a is stopped"},
			"waiting for the coordinator: run n20-a is stopped; what helps: resume the run where its ledger is"},
		{queens.Wait{Reason: queens.NoReplies, Why: "run n20-a is heard and does not answer"},
			"waiting for replies: run n20-a is heard and does not answer; what helps: look at the log and the machine of the coordinator"},
		{queens.Wait{Reason: queens.NoWork, Why: "others hold the rest of run n20-a"},
			"waiting for work: others hold the rest of run n20-a"},
		{queens.Wait{Reason: queens.NoWork, Why: "run n20-a needs counts by another machine"},
			"waiting for work: run n20-a needs counts by another machine"},
		{queens.Wait{Reason: queens.MachineBanned,
			Why: "it counted 6 in task 1, the coordinator counted 5"},
			"this machine is banned: it counted 6 in task 1, the coordinator counted 5; what helps: check its memory and its cooling"},
		{queens.Wait{Reason: queens.OtherProtocol},
			"waiting for a coordinator of this version; what helps: use the same version of both programs"},
		{queens.Wait{Reason: queens.OtherProtocol, Why: "it speaks protocol version 9"},
			"waiting for a coordinator of this version: it speaks protocol version 9; what helps: use the same version of both programs"},
	} {
		seen[c.wait.Reason] = true
		if got := c.wait.Sentence(); got != c.want {
			t.Errorf("%s: %q, want %q", c.wait.Reason, got, c.want)
		}
		if !strings.HasPrefix(c.want, c.wait.Short()) {
			t.Errorf("%s: %q does not begin with %q", c.wait.Reason, c.want, c.wait.Short())
		}
		if err := c.wait.Validate(); err != nil {
			t.Error(err)
		}
	}
	for _, r := range queens.Reasons() {
		if !seen[r] {
			t.Errorf("the reason %s has no case", r)
		}
	}
}
