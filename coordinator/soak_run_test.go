//go:build unix

package main_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
)

// soakRun is a count of the soak: the coordinators that work on it one after another, with
// the same data folder.
type soakRun struct {
	scene
	rng     *rand.Rand
	n       int      // side of the board
	connect []string // flags with which a coordinator connects
	flags   []string // further ones of each count
	args    []string // of count
	// least is the number of accepted results of each run when its coordinator had ended, and of those that
	// quarantines had made void.
	least map[string]uint64
}

func newSoakRun(s scene, rng *rand.Rand) soakRun {
	return soakRun{scene: s, rng: rng, connect: []string{"--nats", s.server.url}, least: make(map[string]uint64)}
}

// count starts a coordinator on a new run.
func (r *soakRun) count(n int, flags ...string) {
	r.t.Helper()
	r.n, r.run = n, ""
	r.args = slices.Concat([]string{fmt.Sprint(n)}, r.connect, r.flags, flags)
	r.coordinator = startCount(r.t, slices.Concat(r.args, r.priority())...)
}

// resume starts another coordinator of the run, by count or by resume. The number of accepted
// results never falls, but for void ones. The last coordinator must have ended.
func (r *soakRun) resume() {
	r.t.Helper()
	args := append([]string{"count"}, r.args...)
	if r.run != "" {
		accepted, void := ledgerOf(r.t, r.coordinator.Flag("--data"), r.run)
		now := accepted + void
		if before := r.least[r.run]; now < before {
			r.t.Errorf("%d tasks of %s were accepted, then %d", before, r.run, now)
		}
		r.least[r.run] = now
		r.deleteForgery()
		if r.rng.IntN(2) == 0 {
			args = slices.Concat([]string{"resume", r.run}, r.connect, r.flags)
		}
	}
	r.coordinator = start(r.t, "coordinator", slices.Concat(args, []string{"--data", r.coordinator.Flag("--data")}, r.priority())...)
}

// couldNotStart reports whether the coordinator, which has ended, could not begin: its server was just
// killed, or, in a cluster, a stream that was just made again may have been on the server that is
// dead.
func (r *soakRun) couldNotStart() bool {
	code := r.coordinator.ExitCode()
	return code == 5 || len(r.flags) > 0 && r.run == "" && code == 1 && r.coordinator.Lines(`"exit":1,.*set up the server`) == 1
}

// priority returns the flag of a random priority.
func (r *soakRun) priority() []string {
	return []string{"--priority", []string{"low", "normal", "high"}[r.rng.IntN(3)]}
}

// awaitRun waits until the coordinator has its run, or has ended.
func (r *soakRun) awaitRun() {
	r.t.Helper()
	if r.coordinator.AwaitEndOr(counting, func() bool { return r.coordinator.Lines(counting) > 0 }) {
		r.run = r.coordinator.Await(counting)
	}
}

// expectIncomplete checks what the coordinator wrote, which ended with exit code 4.
func (r *soakRun) expectIncomplete() {
	r.t.Helper()
	if out := r.coordinator.Stdout(); out != "" || r.coordinator.Lines(`"exit":4,.*the run is incomplete`) != 1 {
		r.t.Fatalf("an incomplete run printed %q, and has %d lines of exit 4", out, r.coordinator.Lines(`"exit":4`))
	}
	r.t.Logf("%s is incomplete:\n%s", r.run, r.coordinator.Log())
}
