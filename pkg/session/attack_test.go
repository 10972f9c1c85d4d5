package session_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"

	"nqueens/pkg/bus"
	"nqueens/pkg/count"
	"nqueens/pkg/join"
	"nqueens/pkg/oracle"
	"nqueens/pkg/queens"
	"nqueens/pkg/report"
	"nqueens/pkg/session"
	"nqueens/pkg/worker"
)

// attacked is a count with an embedded server. No total of its board is published.
type attacked struct {
	*place
	run   string
	ended chan ending
}

// ending says how a count ended.
type ending struct {
	result *report.Result
	err    error
}

// side is the side of the board, and a queen stands on a square beforehand.
const side, row, column = 9, 0, 2

// newAttacked starts a count that needs two witnesses, and has none before workers join.
func newAttacked(t *testing.T) *attacked {
	a := &attacked{place: newPlace(t), ended: make(chan ending, 1)}
	a.Listen, a.Threads = "127.0.0.1:0", 0
	a.Recount = func(ctx context.Context, task queens.Task, kernel string, deeper bool) (uint64,
		error) {
		r := count.Recount{Task: queens.Exported(&task, 1), Kernel: kernel, Deeper: deeper}
		return r.Run(ctx, new(atomic.Uint64))
	}
	started := make(chan string, 1)
	a.OnStart = func(run string) { started <- run }
	a.OnSnapshot = func(*queens.Snapshot) {}
	go func() {
		job := session.Job{
			N: side, Symmetry: queens.None, Placed: []queens.Square{{Row: row, Column: column}},
			Redundancy: 2, Depth: 3,
		}
		_, r, err := a.count(t.Context(), job)
		a.ended <- ending{r, err}
	}()
	a.run = <-started
	return a
}

// tokens is the folder of the tokens.
func (a *attacked) tokens() string {
	path, _ := join.Own(a.Store.Path())
	return filepath.Dir(path)
}

// invite invites a user and returns the path of its token.
func (a *attacked) invite(user string) (path string) {
	a.Helper()
	path, err := join.Invite(a.tokens(), user)
	if err != nil {
		a.Fatal(err)
	}
	return path
}

// own is the token of the machines of one owner.
func (a *attacked) own() string { return filepath.Join(a.tokens(), join.FileName) }

// connect connects with a token. It tries again until the server accepts the token.
func (a *attacked) connect(token string) *bus.Bus {
	a.Helper()
	flags := bus.Flags{Join: token}
	options, err := flags.Connection("test")
	if err != nil {
		a.Fatal(err)
	}
	options.Log = zerolog.Nop()
	for {
		b, err := bus.Connect(a.Context(), options)
		if err == nil {
			a.Cleanup(b.Close)
			return b
		}
		if a.Context().Err() != nil {
			a.Fatal(err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// raw connects with a token as a client that is not this program. The channel gets what the server
// forbids.
func (a *attacked) raw(token string) (*nats.Conn, chan error) {
	a.Helper()
	t, err := join.Load(token)
	if err != nil {
		a.Fatal(err)
	}
	forbidden := make(chan error, 100)
	c, err := nats.Connect(t.URLs(), nats.UserInfo(t.User, t.Password),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { forbidden <- err }))
	if err != nil {
		a.Fatal(err)
	}
	a.Cleanup(c.Close)
	return c, forbidden
}

// process returns a process of the user of a connection.
func process(b *bus.Bus, machine, name string) queens.Process {
	return queens.Process{Machine: queens.Machine{User: b.User(), Name: machine}, Name: name}
}

// ask requests chunks until the coordinator answers.
func (a *attacked) ask(b *bus.Bus, from queens.Process, number uint64, want int) *queens.WorkReply {
	a.Helper()
	for {
		r := queens.WorkRequest{Number: number, Version: "v", Kernel: "generic", Threads: 1, Searchers: 1,
			Want: want}
		reply, err := b.RequestWork(a.Context(), a.run, from, &r)
		if err == nil {
			return reply
		}
		if !errors.Is(err, bus.ErrNoCoordinator) {
			a.Fatal(err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// impersonate asks with the greatest number in the name of a process. When it returns, the request
// is at the coordinator.
func (a *attacked) impersonate(token string, p queens.Process) {
	a.Helper()
	r := queens.WorkRequest{Number: math.MaxUint64, Connection: 1, Version: "v", Kernel: "k",
		Threads: 1, Searchers: 1}
	data, err := bus.EncodeRequest(&r)
	if err != nil {
		a.Fatal(err)
	}
	raw, _ := a.raw(token)
	subject := strings.Join([]string{"nq.work", a.run, p.Machine.User, p.Machine.Name, p.Name}, ".")
	if err := errors.Join(raw.PublishRequest(subject, "_INBOX."+p.Machine.User+".x", data),
		raw.Flush()); err != nil {
		a.Fatal(err)
	}
}

// lie delivers wrong counts of a chunk, and returns why they are refused.
func (a *attacked) lie(
	b *bus.Bus, from queens.Process, c *queens.Chunk, by uint64,
) (refused string) {
	a.Helper()
	r := queens.Result{Range: c.Range, Ticket: c.Ticket, Counted: c.Range, Kernel: "generic",
		Counts: make([]uint64, c.Tasks)}
	hashes := make([]uint64, c.Tasks)
	for i := range hashes {
		task := queens.Task{ID: c.First + uint64(i), Board: c.Board, Prefixes: c.Prefixes[i]}
		hashes[i], r.Counts[i] = task.Hash(), 1_000_000+by
	}
	r.Hash = queens.HashOfRange(hashes)
	reply, err := b.Deliver(a.Context(), a.run, from, &queens.Delivery{Results: []queens.Result{r}})
	if err != nil {
		a.Fatal(err)
	}
	return reply.Receipts[0].Refused
}

// awaitBan asks until the machine of a process is refused.
func (a *attacked) awaitBan(b *bus.Bus, from queens.Process) {
	a.Helper()
	number := uint64(2)
	for a.ask(b, from, number, 0).Refused == "" {
		number++
	}
}

// work starts an honest worker.
func (a *attacked) work(b *bus.Bus, machine string) {
	w := worker.New(worker.Config{
		Process: process(b, machine, machine+"-p"), Version: "v", Kernel: a.Kernel, Threads: 1,
		Log: zerolog.Nop(),
	}, b)
	ctx, stop := context.WithCancel(a.Context())
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	a.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			a.Error(err)
		}
	})
}

// check waits for the end. The total must be exact, exactly the given machines banned, and the log
// must say what confirms it.
func (a *attacked) check(confirmed string, banned ...string) {
	a.Helper()
	end := <-a.ended
	if end.err != nil || end.result == nil || end.result.Total == nil {
		a.Fatalf("the run ends with %v: %s", end.err, &a.log)
	}
	want := oracle.Count(side, func(r, c int) bool { return r != row || c == column }, nil)
	if got := end.result.Total.String(); got != fmt.Sprint(want) {
		a.Errorf("total %s, want %d", got, want)
	}
	if text := report.ConfirmedBy(end.result.Confirmed); text != confirmed {
		a.Errorf("confirmed: %s, want %s", text, confirmed)
	}
	var names []string
	for _, b := range end.result.Last.Banned {
		names = append(names, b.Machine.String())
	}
	if fmt.Sprint(names) != fmt.Sprint(banned) {
		a.Errorf("banned are %v, want %v", names, banned)
	}
	if want := "this is a test, so another one on this host"; !strings.Contains(a.log.String(), want) {
		a.Errorf("the name of this machine hides its hardware, and the log says: %s", &a.log)
	}
}

// Somebody with join.token says that it is on the coordinator's machine and lies: it is banned, and
// the run goes on. It also asks in the name of an honest worker with the greatest number, which
// silences that worker for no request.
func TestAttacksWithOneToken(t *testing.T) {
	a := newAttacked(t)
	b := a.connect(a.own())
	evil := process(b, a.Machine, "evil")
	reply := a.ask(b, evil, 1, 1)
	if len(reply.Chunks) != 1 {
		t.Fatalf("reply %+v", reply)
	}
	for by := range uint64(2) { // a second, different lie opens a dispute at once
		if refused := a.lie(b, evil, &reply.Chunks[0], by); refused != "" {
			t.Errorf("lie %d: %s", by, refused)
		}
	}
	a.awaitBan(b, evil)
	for _, machine := range []string{"one", "two"} {
		a.impersonate(a.own(), process(b, machine, machine+"-p"))
		a.work(a.connect(a.own()), machine)
	}
	a.check("2 witnesses, both claimed by name, agree on every task but 1, which recounts decided",
		a.Machine)
	if log := a.log.String(); !strings.Contains(log, "says that it is the coordinator's machine") {
		t.Errorf("the log does not say who was banned: %s", log)
	}
}

// Of two invited users, one attacks the other. The server lets it neither speak nor listen as the
// other, and the coordinator accepts neither the other's tickets nor a reply that goes elsewhere.
// It bans the liar alone. A removed user is cut off.
func TestAttacksWithTwoTokens(t *testing.T) {
	a := newAttacked(t)
	alice, mallory := a.invite("alice"), a.invite("mallory")
	honest, evil := a.connect(alice), a.connect(mallory)

	raw, forbidden := a.raw(mallory)
	for _, subject := range []string{"_INBOX.alice.>", "_INBOX.>", "nq.work.>", "nq.status.>", ">"} {
		if _, err := raw.SubscribeSync(subject); err != nil {
			t.Fatal(err)
		}
	}
	for _, subject := range []string{"nq.work." + a.run + ".alice.m.p",
		"nq.status." + a.run + ".alice", "_INBOX.alice.x", "nq.run"} {
		if err := raw.Publish(subject, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := raw.Flush(); err != nil {
		t.Fatal(err)
	}
	for range 9 {
		if err := <-forbidden; !errors.Is(err, nats.ErrPermissionViolation) {
			t.Error(err)
		}
	}

	heard := make(chan *nats.Msg, 1000)
	if _, err := raw.ChanSubscribe("nq.run", heard); err != nil {
		t.Fatal(err)
	}
	// the coordinator may publish there, and must not
	for _, reply := range []string{"nq.run", "_INBOX.alice.x"} {
		for _, subject := range []string{"nq.status." + a.run + ".mallory",
			"nq.work." + a.run + ".mallory.m.p"} {
			if err := raw.PublishRequest(subject, reply, nil); err != nil {
				t.Fatal(err)
			}
		}
	}

	chunks := a.ask(honest, process(honest, "one", "one-p"), 1, 1).Chunks
	if len(chunks) != 1 {
		t.Fatalf("%d chunks", len(chunks))
	}
	if refused := a.lie(evil, process(evil, "one", "one-p"), &chunks[0], 0); !strings.Contains(refused,
		"not handed out") {
		t.Errorf("the ticket of another user is accepted: %q", refused)
	}
	if reply := a.ask(evil, process(evil, a.Machine, "p"), 1, 1); !strings.Contains(reply.Refused,
		"coordinator's") {
		t.Errorf("an invited user is on the coordinator's machine: %+v", reply)
	}
	// another process, although its names are the same
	a.impersonate(mallory, process(evil, "one", "one-p"))
	lies := a.ask(evil, process(evil, "one", "evil"), 1, 1).Chunks
	for by := range uint64(2) {
		if refused := a.lie(evil, process(evil, "one", "evil"), &lies[0], by); refused != "" {
			t.Errorf("lie %d: %s", by, refused)
		}
	}
	a.awaitBan(evil, process(evil, "one", "evil"))
	if err := join.Remove(a.tokens(), "mallory"); err != nil {
		t.Fatal(err)
	}
	if err := evil.Wait(t.Context()); !errors.Is(err, queens.ErrNoConnection) ||
		!strings.Contains(err.Error(), "ask for a new invitation") {
		t.Errorf("a removed user: %v", err)
	}
	a.work(honest, "one")
	a.work(a.connect(a.invite("bob")), "one")
	a.check("2 witnesses, both proven, agree on every task but 1, which recounts decided",
		"mallory/one")
	for range len(heard) {
		if _, err := bus.DecodeAnnouncement((<-heard).Data); err != nil {
			t.Errorf("the coordinator publishes on nq.run for another: %v", err)
		}
	}
}
