package bus_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"

	"nqueens/pkg/bus"
	"nqueens/pkg/bus/bustest"
	"nqueens/pkg/bus/natsserver"
	"nqueens/pkg/identity"
	"nqueens/pkg/identity/identitytest"
	"nqueens/pkg/run"
	"nqueens/pkg/testkit"
)

// The token of the tests, and its bcrypt hash.
const (
	joinToken     = "a-token-of-the-tests"
	joinTokenHash = "$2a$04$LvoXNaIgcwOE9uSRr/ap5.I3i6M9wamdkqrY7Li7y5yB3enlEntlK"
)

// guarded is a server with a user of each role and a token.
type guarded struct {
	server *natsserver.Server
	keys   map[bus.Role]*identity.Identity
}

func guard(t *testing.T) *guarded {
	t.Helper()
	g := &guarded{keys: make(map[bus.Role]*identity.Identity)}
	access := bus.Access{TokenHash: joinTokenHash}
	for _, role := range []bus.Role{bus.Coordinator, bus.Watcher, bus.Worker} {
		id, err := identity.New()
		if err != nil {
			t.Fatal(err)
		}
		id.Role = string(role)
		g.keys[role] = id
		access.Users = append(access.Users, bus.User{Role: role, Name: string(role), Key: id.Key()})
	}
	g.server = bustest.Start(t, natsserver.Config{StoreDir: t.TempDir(), Access: access.ServerConfig(), Log: zerolog.Nop()})
	return g
}

// coordinate connects as the coordinator of run n8-a, which it has claimed.
func (g *guarded) coordinate(t *testing.T) (*bus.Bus, *bus.Claim) {
	t.Helper()
	b := g.connect(t, bus.Coordinator)
	ensure(t, b)
	return b, claim(t, b, record("n8-a"))
}

func (g *guarded) connect(t *testing.T, role bus.Role) *bus.Bus {
	t.Helper()
	return bustest.Connect(t, g.server, func(c *bus.Config) { c.Identity = g.keys[role] })
}

func (g *guarded) join(t *testing.T) *bus.Bus {
	t.Helper()
	return bustest.Connect(t, g.server, func(c *bus.Config) { c.Token = joinToken })
}

// workers returns the ways to be a worker.
func (g *guarded) workers(t *testing.T) map[string]*bus.Bus {
	return map[string]*bus.Bus{"with a key": g.connect(t, bus.Worker), "with a token": g.join(t)}
}

// raw connects without this program's client. It notes what the server denies.
func (g *guarded) raw(t *testing.T, role bus.Role) *rawUser {
	t.Helper()
	id := g.keys[role]
	u := &rawUser{}
	var err error
	u.Conn, err = nats.Connect("", nats.InProcessServer(g.server), nats.Nkey(id.Key(), id.Sign),
		nats.CustomInboxPrefix("_INBOX_"+id.Key()), nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			u.mu.Lock()
			defer u.mu.Unlock()
			u.denied = append(u.denied, err.Error())
		}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(u.Close)
	return u
}

type rawUser struct {
	*nats.Conn
	mu     sync.Mutex
	denied []string
}

// isDenied reports whether the server has denied something with that subject.
func (u *rawUser) isDenied(subject string) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, text := range u.denied {
		if strings.Contains(text, `"`+subject+`"`) {
			return true
		}
	}
	return false
}

func TestEachRoleDoesItsPart(t *testing.T) {
	t.Parallel()
	g := guard(t)
	coordinator, claim := g.coordinate(t)
	watcher := g.connect(t, bus.Watcher)
	records, err := watcher.Registry().Records(t.Context())
	if err != nil || len(records) != 1 || records[0].Run != "n8-a" {
		t.Errorf("a watcher sees the records %+v, error %v", records, err)
	}
	read := read(t, coordinator)
	heartbeats := make(chan run.Heartbeat, 9)
	subscribeTo(t, coordinator, coordinator.Telemetry().SubscribeHeartbeats, heartbeats)
	id := uint64(0)
	for name, worker := range g.workers(t) {
		id++
		sequence := publish(t, coordinator, chunk("n8-a", id))
		announcements := make(chan run.Announcement, 9)
		subscribeTo(t, worker, worker.Telemetry().SubscribeAnnouncements, announcements)
		if err := coordinator.Telemetry().PublishAnnouncement(run.Announcement{Run: "n8-a", Epoch: claim.Epoch(), State: run.Running, Weight: 1, Waiting: 1}); err != nil {
			t.Fatal(err)
		}
		check(t, "the run of the announcement that a worker "+name+" gets", receive(t, announcements, "an announcement").Run, "n8-a")
		q := queue(t, worker)
		taken := take(t, q)
		check(t, "the chunk that a worker "+name+" takes", taken.Chunk.ID, id)
		if err := taken.Lease.Extend(); err != nil {
			t.Fatal(err)
		}
		publishResult(t, worker, result("n8-a", id))
		if err := taken.Lease.Ack(t.Context()); err != nil {
			t.Fatal(err)
		}
		check(t, "the chunk of the result", receive(t, read.Results, "the result").Chunk, id)
		if queued, _, err := coordinator.Tasks().Has(t.Context(), "n8-a", id, sequence); queued || err != nil {
			t.Errorf("the chunk is queued: %v, error %v", queued, err)
		}
		if err := worker.Telemetry().PublishHeartbeat(run.Heartbeat{Worker: "w", Version: "v", Kernel: "k", Threads: 1}, identitytest.Of("w")); err != nil {
			t.Fatal(err)
		}
		check(t, "the worker of the heartbeat", receive(t, heartbeats, "a heartbeat").Worker, "w")
		q.Park("n8-a")
		publish(t, coordinator, chunk("n8-a", 100+id))
		loan := receive(t, q.Parked(), "a chunk for a parked request")
		check(t, "the parked chunk", loan.Chunk.ID, 100+id)
		if err := loan.Lease.Ack(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := coordinator.Registry().Cancel(t.Context(), "n8-a"); err != nil {
		t.Error(err)
	}
}

// subscribeTo sends what arrives to a channel, until the test ends. If there is a connection, the server knows
// the subscription when it returns, however busy it is.
func subscribeTo[T any](t *testing.T, b *bus.Bus, subscribe func(func(T)) (func(), error), to chan T) (unsubscribe func()) {
	t.Helper()
	unsubscribe, err := subscribe(func(value T) { to <- value })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(unsubscribe)
	b.Flush(testkit.Stall)
	return unsubscribe
}

// A user who does what another role may do is told so at once, and nothing waits for an answer.
func TestAWrongRoleIsToldSo(t *testing.T) {
	t.Parallel()
	g := guard(t)
	coordinator, _ := g.coordinate(t)
	sequence := publish(t, coordinator, chunk("n8-a", 1))
	task, answer := chunk("n8-a", 2), result("n8-a", 2)
	attempts := map[string]func(context.Context, *bus.Bus) error{
		"ensure streams": func(ctx context.Context, b *bus.Bus) error { return b.Ensure(ctx, "n8-c") },
		"publish tasks": func(ctx context.Context, b *bus.Bus) error {
			_, err := b.Tasks().Publish(ctx, &task)
			return err
		},
		"purge tasks":   func(ctx context.Context, b *bus.Bus) error { return b.Tasks().Purge(ctx, "n8-a") },
		"delete tasks":  func(ctx context.Context, b *bus.Bus) error { return b.Tasks().Delete(ctx, "n8-a", 1, sequence) },
		"purge results": func(ctx context.Context, b *bus.Bus) error { return b.Results().Purge(ctx, "n8-a") },
		"cancel":        func(ctx context.Context, b *bus.Bus) error { return b.Registry().Cancel(ctx, "n8-a") },
		"remove a run":  func(ctx context.Context, b *bus.Bus) error { return b.Registry().Delete(ctx, "n8-a") },
		"claim a run": func(ctx context.Context, b *bus.Bus) error {
			_, err := b.Registry().Claim(ctx, record("n8-a"))
			return err
		},
		"forge progress": func(ctx context.Context, b *bus.Bus) error {
			return told(ctx, b, b.Telemetry().PublishSnapshot(&run.Snapshot{Run: "n8-a"}))
		},
		"forge announcements": func(ctx context.Context, b *bus.Bus) error {
			return told(ctx, b, b.Telemetry().PublishAnnouncement(run.Announcement{Run: "n8-a", Epoch: 9, State: run.Running, Weight: 1}))
		},
		"read heartbeats": func(ctx context.Context, b *bus.Bus) error {
			_, err := b.Telemetry().SubscribeHeartbeats(func(run.Heartbeat) {})
			return told(ctx, b, err)
		},
	}
	only := map[bus.Role]map[string]func(context.Context, *bus.Bus) error{
		bus.Worker: {
			"read records": func(ctx context.Context, b *bus.Bus) error { _, err := b.Registry().Records(ctx); return err },
			"watch":        watchUntilTold,
		},
		bus.Watcher: {
			"take tasks":      func(ctx context.Context, b *bus.Bus) error { _, err := b.Queue().Take(ctx, "n8-a", 1); return err },
			"publish results": func(ctx context.Context, b *bus.Bus) error { return b.Results().Publish(ctx, &answer) },
		},
	}
	users := map[string]struct {
		role    bus.Role
		connect func(t *testing.T) *bus.Bus
	}{
		"a worker":              {bus.Worker, func(t *testing.T) *bus.Bus { return g.connect(t, bus.Worker) }},
		"a worker with a token": {bus.Worker, g.join},
		"a watcher":             {bus.Watcher, func(t *testing.T) *bus.Bus { return g.connect(t, bus.Watcher) }},
	}
	for name, user := range users {
		try := func(what string, attempt func(context.Context, *bus.Bus) error) {
			b := user.connect(t)
			ctx, cancel := context.WithTimeout(t.Context(), testkit.Stall)
			defer cancel()
			err := attempt(ctx, b)
			if !errors.Is(err, run.ErrNoConnection) || errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s: %s: error %v does not say that it is not permitted", name, what, err)
				return
			}
			says(t, name+": "+what, err, "may not", "its role is "+string(user.role), "this needs the role", "--nkey")
			if err := b.WaitClosed(ctx); !errors.Is(err, run.ErrNoConnection) {
				t.Errorf("%s: %s: the connection continues: %v", name, what, err)
			}
		}
		for what, attempt := range attempts {
			try(what, attempt)
		}
		for what, attempt := range only[user.role] {
			try(what, attempt)
		}
	}
	checkStreams(t, g, 0)
}

// told waits until the server has denied what gets no answer.
func told(ctx context.Context, b *bus.Bus, err error) error {
	if err != nil {
		return err
	}
	return b.WaitClosed(ctx)
}

func watchUntilTold(ctx context.Context, b *bus.Bus) error {
	_, err := b.Telemetry().SubscribeSnapshots("n8-a", func(*run.Snapshot) {})
	return told(ctx, b, err)
}

// checkStreams checks that the run n8-a has one task, that many results, and its record.
func checkStreams(t *testing.T, g *guarded, reported uint64) {
	t.Helper()
	js, err := jetstream.New(g.raw(t, bus.Coordinator).Conn)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]uint64{tasks: 1, results: reported, "KV_nq_runs": 1} {
		stream, err := js.Stream(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		check(t, "messages in "+name, stream.CachedInfo().State.Msgs, want)
		check(t, "last message in "+name, stream.CachedInfo().State.LastSeq, want)
	}
}
