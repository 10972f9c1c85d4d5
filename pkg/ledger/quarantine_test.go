package ledger_test

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"nqueens/pkg/ledger"
	"nqueens/pkg/run"
	"nqueens/pkg/testkit"
)

// signedBy returns a result by a key, of an admitted worker with its name.
func signedBy(key string, task, count uint64) run.Result {
	r := result(task, count, 1)
	r.Worker, r.Key, r.Admitted = "worker of "+key, key, true
	return r
}

// sealed makes the results one signed chunk result of their key.
func sealed(statement string, results ...run.Result) []run.Result {
	s := &run.Sealed{Key: results[0].Key, Statement: []byte(statement), Signature: []byte(strings.Repeat("s", 64))}
	for i := range results {
		results[i].Sealed = s
	}
	return results
}

// reopened closes a ledger and opens it again.
func reopened(t *testing.T, l *ledger.Ledger, folder string) *ledger.Ledger {
	t.Helper()
	closed(t, l)
	return open(t, openWriter, folder)
}

// quarantine quarantines a key and revokes its results. It returns the tasks without an accepted result, in
// order.
func quarantine(l *ledger.Ledger, q run.QuarantinedKey) (recount []uint64, err error) {
	if err := l.Quarantine(q); err != nil {
		return nil, err
	}
	return revokeAll(l)
}

func revokeAll(l *ledger.Ledger) (recount []uint64, err error) {
	for more := true; more; {
		var changed []uint64
		if changed, more, err = l.Revoke(); err != nil {
			return nil, err
		}
		recount = append(recount, slices.DeleteFunc(changed, l.Has)...)
	}
	slices.Sort(recount)
	return recount, nil
}

// A statement is stored once, as it came, if anything of it is stored; the results of it
// name it. The ledger counts those of each key.
func TestStatements(t *testing.T) {
	folder := t.TempDir()
	l := create(t, folder, 100)
	first := sealed("first", signedBy("a", 1, 10), signedBy("a", 2, 20), signedBy("a", 3, 30))
	again := sealed("again", signedBy("a", 1, 10), signedBy("a", 2, 20))
	other := sealed("other", signedBy("b", 3, 30), signedBy("b", 4, 40))
	accept(t, l, position(1), slices.Concat(first, again, other)...)
	accept(t, l, position(2), sealed("vote", signedBy("c", 3, 31))...)
	for range 2 {
		if l.Statements() != 3 || l.Chunks("a") != 1 || l.Chunks("b") != 1 || l.Chunks("c") != 1 || l.Chunks("d") != 0 {
			t.Errorf("it has %d statements; of a %d, of b %d, of c %d", l.Statements(), l.Chunks("a"), l.Chunks("b"), l.Chunks("c"))
		}
		for number, want := range map[uint64]*run.Sealed{1: first[0].Sealed, 2: other[0].Sealed} {
			if got, err := l.Statement(number); err != nil || got.Key != want.Key || string(got.Statement) != string(want.Statement) || string(got.Signature) != string(want.Signature) {
				t.Errorf("statement %d is %v (%v), want %v", number, got, err, want)
			}
		}
		var damaged *ledger.DamagedError
		for _, number := range []uint64{0, 4} {
			if _, err := l.Statement(number); !errors.As(err, &damaged) {
				t.Errorf("statement %d: the error is %v", number, err)
			}
		}
		for task, want := range map[uint64]uint64{1: 1, 2: 1, 3: 1, 4: 2} {
			if r, _, err := l.Result(task); err != nil || r.StatementID != want || r.Sealed != nil || !r.Admitted || r.Key == "" {
				t.Errorf("the result of task %d is %+v (%v), want statement %d", task, r, err, want)
			}
		}
		d := l.Dispute(3)
		var of []uint64
		for _, v := range d.Votes {
			of = append(of, v.StatementID)
		}
		if !slices.Equal(of, []uint64{1, 2, 3}) {
			t.Errorf("the votes have statements %d", of)
		}
		l = reopened(t, l, folder)
	}
	forged := signedBy("b", 9, 1)
	forged.Sealed = first[0].Sealed
	if _, err := l.Accept([]run.Result{forged}, 0, position(3)); err == nil || !strings.Contains(err.Error(), `by key "b" that key "a" signed`) {
		t.Errorf("the error is %v", err)
	}
}

// checkStanding checks what supports the accepted counts of tasks.
func checkStanding(t *testing.T, l *ledger.Ledger, want map[uint64]run.Standing) {
	t.Helper()
	for task, want := range want {
		if got := l.Standing(task); got != want {
			t.Errorf("task %d: %+v, want %+v", task, got, want)
		}
	}
}

// Results of admitted keys that agree with the accepted one confirm it, one for each key and at most
// five, until another count makes votes of them. A key that is not admitted confirms nothing, and the same
// key with a proof of its admission is still one voter.
func TestConfirmations(t *testing.T) {
	folder := t.TempDir()
	l := create(t, folder, 10)
	own := signedBy("", 2, 7)
	own.Worker, own.Admitted = run.Referee, false
	foreign := signedBy("f", 1, 7)
	foreign.Admitted = false
	stranger := signedBy("g", 1, 7)
	stranger.Admitted = false
	var batch []run.Result
	for _, key := range []string{"a", "a", "b", "c", "b"} {
		batch = append(batch, signedBy(key, 1, 7))
	}
	batch = append(batch, foreign, stranger, signedBy("d", 1, 7), signedBy("e", 1, 7), signedBy("h", 1, 7), signedBy("a", 2, 7), own)
	want := []ledger.Verdict{
		ledger.Accepted, ledger.Duplicate, ledger.Confirmed, ledger.Confirmed, ledger.Duplicate, ledger.Duplicate, ledger.Duplicate,
		ledger.Confirmed, ledger.Confirmed, ledger.Confirmed, ledger.Accepted, ledger.Confirmed, ledger.Accepted, ledger.Duplicate,
	}
	proven := signedBy("g", 4, 7)
	unproven := proven
	unproven.Admitted = false
	batch = append(batch, unproven, proven)
	if got := accept(t, l, position(1), batch...); !slices.Equal(got, want) {
		t.Errorf("the verdicts are %v, want %v", got, want)
	}
	keys := func(task uint64) (all string) {
		supporters, err := l.Supporters(task)
		if err != nil {
			t.Error(err)
		}
		for _, s := range supporters {
			all += s.Key
		}
		return all
	}
	for range 2 {
		if keys(1) != "abcdeh" {
			t.Errorf("task 1 is supported by %s", keys(1))
		}
		checkStanding(t, l, map[uint64]run.Standing{
			0: {}, 1: {Counted: true, Voters: 6}, 2: {Counted: true, Voters: 1, Own: true},
			3: {}, 4: {Counted: true}, 10: {}, math.MaxUint64: {},
		})
		if c := l.Confirmation(nil); c.Tasks != 3 || c.Checked != 2 || c.Redundancy != 0 || c.Disputes != 0 || c.Unadmitted != 1 {
			t.Errorf("the confirmation is %+v", c)
		}
		l = reopened(t, l, folder)
	}
	accept(t, l, position(2), signedBy("x", 1, 8))
	accept(t, l, position(3), signedBy("i", 1, 7))
	for range 2 {
		if d := l.Dispute(1); len(d.Votes) != 7 || !d.Settled || l.Standing(1).Voters != 6 || keys(1) != "abcdeh" {
			t.Errorf("with another count, task 1 has %d voters, %s; the dispute is %v", l.Standing(1).Voters, keys(1), d)
		}
		l = reopened(t, l, folder)
	}
	own.Task, own.Count = 1, 8
	accept(t, l, position(4), own)
	for range 2 {
		if n := l.Standing(1).Voters; n != 1 || keys(1) != "x" || !l.Standing(1).Own {
			t.Errorf("overruled, task 1 has %d voters, %s", n, keys(1))
		}
		if c := l.Confirmation(nil); c.Disputes != 1 {
			t.Errorf("the confirmation is %+v", c)
		}
		l = reopened(t, l, folder)
	}
}

// The confirmation says how many keys voted, which of them came by the join token alone, how many tasks only
// unadmitted keys counted, and whether the promised spot checks were made. The redundancy is that of the worst task, and the
// coordinator's own count adds nothing to it. Without tasks no keys agree on any.
func TestConfirmationOfKeysAndChecks(t *testing.T) {
	if got := create(t, t.TempDir(), 0).Confirmation(nil); got != (run.Confirmation{}) {
		t.Errorf("without tasks it is %+v", got)
	}
	folder := t.TempDir()
	l := createWith(t, folder, headerWith(4, ledger.Trust{Redundancy: 1, SpotCheck: run.SpotCheck{Share: 0.5}}))
	admitted := func(key string, task uint64, admitted, byToken bool) run.Result {
		r := signedBy(key, task, 7)
		r.Admitted, r.ByToken = admitted, byToken
		return r
	}
	check := admitted("", 2, false, false)
	check.Worker = run.Checker
	accept(t, l, position(1),
		admitted("listed", 0, true, false), admitted("token", 0, true, true),
		admitted("both", 1, true, true), admitted("stranger", 2, false, false), admitted("stranger", 3, false, false), check)
	accept(t, l, position(2), admitted("both", 2, true, false))
	want := run.Confirmation{Tasks: 4, Checked: 2, Sampled: true, Unadmitted: 1, Voters: 3, ByToken: 1}
	for range 2 {
		if got := l.Confirmation(nil); got != want || got.Level() != run.None {
			t.Errorf("it is %+v, %s, want %+v, none", got, got.Level(), want)
		}
		l = reopened(t, l, folder)
	}
	accept(t, l, position(3), admitted("listed", 1, true, false), admitted("listed", 3, true, false), admitted("both", 3, true, true))
	want.Unadmitted, want.Redundancy, want.Checked = 0, 1, 4
	if got := l.Confirmation(nil); got != want || got.Level() != run.Sampled {
		t.Errorf("it is %+v, %s, want %+v, sampled", got, got.Level(), want)
	}
	if err := l.SetMissed(1); err != nil {
		t.Fatal(err)
	}
	l = reopened(t, l, folder)
	want.Missed, want.Sampled = 1, false
	if got := l.Confirmation(nil); got != want || got.Level() != run.None {
		t.Errorf("with a check missed it is %+v, %s, want %+v, none", got, got.Level(), want)
	}
	closed(t, l)
}

// However many counts a key reports of a disputed task, the keys that lack can still agree once the
// coordinator has counted it.
func TestVotesOfOneKeyLeaveRoom(t *testing.T) {
	folder := t.TempDir()
	l := createWith(t, folder, headerWith(4, ledger.Trust{Redundancy: 2}))
	accept(t, l, position(1), signedBy("a", 0, 7))
	for i := range uint64(70) {
		accept(t, l, position(2+i), signedBy("liar", 0, 100+i))
		accept(t, l, position(2+i), signedBy(fmt.Sprint("liar", i/2), 0, 200+i))
	}
	own := signedBy("", 0, 7)
	own.Worker, own.Admitted = run.Referee, false
	accept(t, l, position(100), own)
	if _, err := quarantine(l, run.QuarantinedKey{Key: "liar"}); err != nil {
		t.Fatal(err)
	}
	l = reopened(t, l, folder)
	if !l.LacksVoters(0) {
		t.Error("one key and the coordinator are enough, of two keys")
	}
	if v := accept(t, l, position(101), signedBy("b", 0, 7)); v[0] != ledger.Confirmed || l.Standing(0).Voters != 2 || l.LacksVoters(0) {
		d := l.Dispute(0)
		t.Errorf("the verdict is %v; %d voters agree; the dispute has %d votes", v, l.Standing(0).Voters, len(d.Votes))
	}
	closed(t, l)
}

// A task is done when as many voters agree on it as the run asks for, or the coordinator has counted it and no
// worker gets it any more.
func TestDoneByClass(t *testing.T) {
	own := signedBy("", 2, 7)
	own.Worker, own.Admitted = run.Referee, false
	for _, c := range []struct {
		redundancy int
		alone      bool
		want       uint64
	}{{1, false, 3}, {2, false, 1}, {2, true, 2}, {3, false, 0}, {3, true, 1}} {
		folder := t.TempDir()
		l := createWith(t, folder, headerWith(4, ledger.Trust{Redundancy: c.redundancy}))
		for i, r := range []run.Result{signedBy("a", 0, 1), signedBy("a", 1, 1), own, signedBy("b", 1, 1)} {
			accept(t, l, position(uint64(i)), r)
		}
		if c.alone {
			if err := l.SetAlone(2); err != nil {
				t.Fatal(err)
			}
		}
		for range 2 {
			if got := l.Standing(2); !got.Own || got.Alone != c.alone {
				t.Errorf("task 2: %+v", got)
			}
			var done uint64
			for _, n := range l.DoneByClass() {
				done += n
			}
			if done != c.want {
				t.Errorf("%+v: %d tasks are done", c, done)
			}
			l = reopened(t, l, folder)
		}
		closed(t, l)
	}
}

// A quarantine revokes what the key has counted; others take its place. Nothing of
// the key is accepted until the quarantine is lifted, and what was revoked stays so.
func TestQuarantine(t *testing.T) {
	folder := t.TempDir()
	l := create(t, folder, 100)
	accept(t, l, position(1),
		signedBy("liar", 1, 10),                                             // alone
		signedBy("liar", 2, 20), signedBy("a", 2, 20), signedBy("b", 2, 20), // confirmed
		signedBy("a", 3, 30), signedBy("liar", 3, 30), // confirms
		signedBy("a", 4, 40), signedBy("liar", 4, 41), // contradicts
		signedBy("liar", 5, 50), signedBy("c", 5, 51), // is contradicted
		signedBy("a", 6, 60),
		signedBy("liar", 7, 70), signedBy("liar", 7, 71), // contradicts itself
	)
	q := run.QuarantinedKey{Key: "liar", Reason: "task 4", At: time.Unix(7, 8), Task: 4}
	recount, err := quarantine(l, q)
	if err != nil || !slices.Equal(recount, []uint64{1, 7}) {
		t.Errorf("to be counted again are %d (%v)", recount, err)
	}
	q.At = q.At.UTC()
	for range 2 {
		if got := l.Quarantined(); !slices.Equal(got, []run.QuarantinedKey{q}) || !l.IsQuarantined("liar") || l.IsQuarantined("a") || l.IsRevoking() {
			t.Errorf("the quarantined are %v; it is revoking: %v", got, l.IsRevoking())
		}
		for task, c := range map[uint64]struct {
			key    string
			count  uint64
			voters int
		}{2: {"a", 20, 2}, 3: {"a", 30, 1}, 4: {"a", 40, 1}, 5: {"c", 51, 1}, 6: {"a", 60, 1}} {
			if r, ok, err := l.Result(task); err != nil || !ok || r.Key != c.key || r.Count != c.count || l.Standing(task).Voters != c.voters {
				t.Errorf("task %d has %+v with %d voters (%v)", task, r, l.Standing(task).Voters, err)
			}
		}
		for _, task := range []uint64{1, 7} {
			if _, ok, err := l.Result(task); ok || err != nil || l.Has(task) || l.Standing(task).Voters != 0 {
				t.Errorf("task %d has a result (%v)", task, err)
			}
		}
		if d := l.Dispute(7); len(d.Votes) != 0 || len(d.Revoked) != 2 || !d.Settled {
			t.Errorf("the dispute without votes is %+v", d)
		}
		if d := l.Dispute(4); len(d.Votes) != 1 || len(d.Revoked) != 1 || !d.Settled {
			t.Errorf("the dispute with a vote is %+v", d)
		}
		l = reopened(t, l, folder)
	}
	if v := accept(t, l, position(2), signedBy("liar", 1, 10), signedBy("liar", 7, 70), signedBy("a", 7, 72)); !slices.Equal(v, []ledger.Verdict{ledger.Refused, ledger.Refused, ledger.Accepted}) {
		t.Errorf("the verdicts are %v", v)
	}
	if again, err := quarantine(l, run.QuarantinedKey{Key: "liar"}); again != nil || err != nil || l.Quarantined()[0] != q {
		t.Errorf("quarantined again: %v, %v", again, err)
	}
	if err := l.Lift("liar"); err != nil || l.IsQuarantined("liar") {
		t.Error(err)
	}
	l = reopened(t, l, folder)
	if err := l.Lift("liar"); err == nil {
		t.Error("lifted twice")
	}
	if v := accept(t, l, position(3), signedBy("liar", 1, 11), signedBy("liar", 7, 72)); !slices.Equal(v, []ledger.Verdict{ledger.Accepted, ledger.Confirmed}) {
		t.Errorf("the verdicts are %v", v)
	}
	if recount, err := quarantine(l, q); err != nil || !slices.Equal(recount, []uint64{1}) || l.Standing(7).Voters != 1 {
		t.Errorf("quarantined again, to be counted again are %d (%v)", recount, err)
	}
	for _, key := range []string{"", run.Referee, run.Checker, strings.Repeat("k", 200)} {
		if err := l.Quarantine(run.QuarantinedKey{Key: key}); err == nil {
			t.Errorf("%.20q is quarantined", key)
		}
	}
}

// After any results and quarantines, also when opened again after each, a ledger has the results,
// voters and disputes that another has after the same without the quarantined keys, up to which of
// the results that agree is the accepted one.
func TestQuarantineAgainstNothing(t *testing.T) {
	rng := testkit.Rand(t)
	const tasks = 12
	for range rounds(8, 40) {
		folder := t.TempDir()
		l, without := create(t, folder, tasks), create(t, t.TempDir(), tasks)
		lying := map[string]bool{"a": true, "b": true}
		kept := uint64(0)
		neverFalls := func() {
			if now := l.Len() + l.Lost(); now < kept {
				t.Fatalf("%d results were accepted, and now %d, of which %d are lost", kept, now, l.Lost())
			}
			kept = l.Len() + l.Lost()
		}
		for i := range uint64(rng.IntN(80)) {
			r := signedBy(string(rune('a'+rng.IntN(5))), rng.Uint64N(tasks), rng.Uint64N(2))
			accept(t, l, position(i), r)
			neverFalls()
			if !lying[r.Key] {
				accept(t, without, position(i), r)
			}
		}
		for _, key := range slices.Sorted(maps.Keys(lying)) {
			if err := l.Quarantine(run.QuarantinedKey{Key: key}); err != nil {
				t.Fatal(err)
			}
			if rng.IntN(2) == 0 {
				l = reopened(t, l, folder)
			}
			if _, err := revokeAll(l); err != nil {
				t.Fatal(err)
			}
			neverFalls()
		}
		l = reopened(t, l, folder)
		neverFalls()
		for task := range uint64(tasks) {
			a, _, err := l.Result(task)
			b, _, err2 := without.Result(task)
			if err != nil || err2 != nil || l.Has(task) != without.Has(task) || a.Count != b.Count || l.Standing(task).Voters != without.Standing(task).Voters {
				t.Errorf("task %d: %v with %d voters, want %v with %d (%v, %v)", task, a, l.Standing(task).Voters, b, without.Standing(task).Voters, err, err2)
			}
			supporters, err := l.Supporters(task)
			if err != nil || len(supporters) != l.Standing(task).Voters {
				t.Errorf("task %d has %d supporters, and %d voters (%v)", task, len(supporters), l.Standing(task).Voters, err)
			}
		}
		closed(t, l)
		closed(t, without)
	}
}

// quarantineForever quarantines a key that has counted half of many tasks, and lifts that.
func quarantineForever(folder string) error {
	l, err := openWriter(folder)
	if errors.Is(err, fs.ErrNotExist) {
		l, err = ledger.Create(folder, header(30_000))
	}
	if err != nil {
		return err
	}
	fmt.Println("open")
	for sequence := l.Position().Sequence + 1; ; sequence++ {
		if !l.IsQuarantined("liar") {
			var batch []run.Result
			for task := range uint64(30_000) {
				if !l.Has(task) {
					batch = append(batch, signedBy([]string{"honest", "liar"}[task%2], task, task))
				}
			}
			if _, err := l.Accept(batch, 0, position(sequence)); err != nil {
				return err
			}
			if _, err := quarantine(l, run.QuarantinedKey{Key: "liar"}); err != nil {
				return err
			}
		}
		fmt.Println("quarantined")
		if err := l.Lift("liar"); err != nil {
			return err
		}
	}
}

// A process that is killed at any moment of a quarantine leaves a ledger whose next process
// completes it: nothing of a quarantined key is accepted, and nothing of another is lost.
func TestKilledInQuarantine(t *testing.T) {
	rng := testkit.Rand(t)
	folder := t.TempDir()
	found := 0
	for round := range rounds(4, 12) {
		cmd, lines := started(t, "quarantine", folder)
		for n := 0; lines.Scan(); n++ {
			if n == 1 {
				time.AfterFunc(time.Duration(rng.IntN(200))*time.Millisecond, func() { _ = cmd.Process.Kill() })
			}
		}
		_ = cmd.Wait() // it was killed
		l := open(t, openWriter, folder)
		if _, err := revokeAll(l); err != nil {
			t.Fatal(err)
		}
		honest := uint64(0)
		for r, err := range l.Range(0, math.MaxUint64) {
			if err != nil || l.IsQuarantined("liar") && r.Key == "liar" {
				t.Fatalf("round %d: task %d is accepted of %s (%v)", round, r.Task, r.Key, err)
			}
			if r.Key == "honest" {
				honest++
			}
		}
		if honest != 15_000 || len(l.Damaged()) != 0 {
			t.Fatalf("round %d: %d of 15000 honest results are left", round, honest)
		}
		if l.IsQuarantined("liar") {
			found++
		}
		closed(t, l)
	}
	t.Logf("%d times the key was quarantined", found)
}

// A quarantine revokes in steps, each of a bounded number of results. Between any two of them results are
// accepted as always, and the quarantine can't be lifted. A process that ends there leaves a ledger that
// says that results of the key still count, and the next process goes on: it has what it would have
// without the key.
func TestRevokingInSteps(t *testing.T) {
	const tasks, step, steps = 10_000, 1 << 12, 3
	wants := map[uint64]uint64{1: 1, 3: 4, tasks - 1: tasks - 1, tasks - 3: 0}
	for done := range steps {
		folder := t.TempDir()
		l := create(t, folder, tasks)
		var batch []run.Result
		for task := range uint64(tasks) {
			batch = append(batch, signedBy("liar", task, task))
			if task%2 == 0 {
				batch = append(batch, signedBy("honest", task, task))
			}
		}
		accept(t, l, position(1), batch...)
		if err := l.Quarantine(run.QuarantinedKey{Key: "liar"}); err != nil {
			t.Fatal(err)
		}
		for i := range done {
			if changed, more, err := l.Revoke(); !more || len(changed) == 0 || len(changed) > step || err != nil {
				t.Fatalf("step %d of %d changed %d tasks; there is more: %v (%v)", i, done, len(changed), more, err)
			}
		}
		if err := l.Lift("liar"); err == nil {
			t.Error("lifted while its results are revoked")
		}
		// The first tasks are revoked, the last ones are not: one is confirmed, and one contradicted.
		accept(t, l, position(2), signedBy("c", 1, 1), signedBy("c", 3, 4), signedBy("c", tasks-1, tasks-1), signedBy("c", tasks-3, 0))
		closed(t, l)

		l = open(t, ledger.OpenReadOnly, folder)
		liars := 0
		for r, err := range l.Range(0, math.MaxUint64) {
			if err != nil {
				t.Fatal(err)
			}
			if r.Key == "liar" {
				liars++
			}
		}
		if want := max(0, tasks-done*step); !l.IsRevoking() || liars > want || liars < want-2 {
			t.Errorf("after %d steps %d results of the key count, want %d; the ledger says so: %v", done, liars, want, l.IsRevoking())
		}
		closed(t, l)

		l = open(t, openWriter, folder)
		if _, err := revokeAll(l); err != nil {
			t.Fatal(err)
		}
		for r, err := range l.Range(0, math.MaxUint64) {
			want, byC := wants[r.Task]
			if err != nil || byC && (r.Key != "c" || r.Count != want) || !byC && (r.Key != "honest" || r.Task%2 != 0) || l.Standing(r.Task).Voters != 1 {
				t.Fatalf("after %d steps and Open, task %d has %+v of %d voters (%v)", done, r.Task, r, l.Standing(r.Task).Voters, err)
			}
		}
		if l.IsRevoking() || l.Len() != tasks/2+4 {
			t.Errorf("after %d steps and Open, %d tasks have results; still revoking: %v; disputes %v", done, l.Len(), l.IsRevoking(), l.Disputes())
		}
	}
}
