//go:build unix

package main_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"google.golang.org/protobuf/proto"

	"nqueens/pkg/cli/clitest"
	"nqueens/pkg/identity"
	"nqueens/pkg/identity/identitytest"
	"nqueens/pkg/testkit"
	nqueensv1 "nqueens/proto/nqueens/v1"
)

// hostile is a client of the soak that sends whatever may harm: with the credentials of a worker, or with
// none to servers that are open to everybody.
type hostile struct {
	soak    *soak
	rng     *rand.Rand
	conn    *nats.Conn
	inbox   *nats.Subscription // of the chunks that it takes
	key     *identity.Identity // admitted, or nil
	chunks  []stolen           // that it has taken lately, of all runs
	results [][]byte           // that it has sent lately, of all runs
	attacks []attack
	sent    map[string]int // messages by attack
	// lied and cancelled are runs for which it has sent wrong counts, or a record that says that they are
	// cancelled.
	lied, cancelled map[string]bool

	mu     sync.Mutex
	denied map[string]int // messages by subject
}

// stolen is a chunk that the client has taken.
type stolen struct {
	*nqueensv1.Chunk
	reply string // where it is acknowledged
}

// attack is a kind of message.
type attack struct {
	name string
	// forbidden is the beginning of its subjects if no worker may send it.
	forbidden string
	// send sends messages about a run, and returns how many.
	send func(run string) int
}

// attacksAtOnce is how many kinds of messages the client sends between two faults.
const attacksAtOnce = 3

// kept bounds the chunks and results that the client remembers.
const kept = 200

func startHostile(s *soak) *hostile {
	s.t.Helper()
	h := &hostile{
		soak: s, rng: rand.New(rand.NewPCG(s.rng.Uint64(), 0)), sent: make(map[string]int), denied: make(map[string]int),
		lied: make(map[string]bool), cancelled: make(map[string]bool),
	}
	prefix := nats.InboxPrefix
	if s.keys != nil {
		h.key = s.keys.identity(hostileName)
		prefix = "_INBOX_" + h.key.Key() + "."
	}
	var err error
	h.conn, err = nats.Connect(s.url(), append(s.userOptions(hostileName), nats.MaxReconnects(-1), nats.ReconnectWait(100*time.Millisecond),
		nats.ReconnectBufSize(-1), nats.ErrorHandler(h.noteDenied))...)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(h.conn.Close)
	if h.inbox, err = h.conn.SubscribeSync(prefix + "chunks"); err != nil {
		s.t.Fatal(err)
	}
	h.attacks = h.allAttacks()
	return h
}

var deniedSubject = regexp.MustCompile(`(?i)permissions violation for publish to "([^"]+)"`)

// noteDenied counts a message that the server has denied.
func (h *hostile) noteDenied(_ *nats.Conn, _ *nats.Subscription, err error) {
	if match := deniedSubject.FindStringSubmatch(err.Error()); match != nil && errors.Is(err, nats.ErrPermissionViolation) {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.denied[match[1]]++
	}
}

// deniedByKind returns how many messages the server has denied, by the kind of their subject.
func (h *hostile) deniedByKind() map[string]int {
	h.mu.Lock()
	defer h.mu.Unlock()
	counts := make(map[string]int)
	for subject, n := range h.denied {
		kind := subject
		for _, known := range []string{"nq.task", "nq.progress", "nq.live", "$KV.nq_runs", "$JS.API"} {
			if strings.HasPrefix(subject, known) {
				kind = known
			}
		}
		counts[kind] += n
	}
	return counts
}

// attack sends messages of some random kinds about a random run.
func (h *hostile) attack() {
	h.soak.t.Helper()
	name := h.soak.someRun()
	if name == "" || !h.conn.IsConnected() {
		return
	}
	h.readChunks()
	if c, ok := h.someChunk(name); !ok || c.Run != name {
		h.sent["request for chunks"] += h.take(name)
	}
	for range attacksAtOnce {
		a := h.attacks[h.rng.IntN(len(h.attacks))]
		h.sent[a.name] += a.send(name)
	}
}

// publish sends a message with a reply subject or "", and returns 1 if it is on its way.
func (h *hostile) publish(subject, reply string, data []byte) int {
	if h.conn.PublishMsg(&nats.Msg{Subject: subject, Reply: reply, Data: data}) != nil {
		return 0 // no connection
	}
	return 1
}

// readChunks reads the chunks that have come, and does with each what a worker should not: it
// acknowledges it uncounted, or keeps it. It returns most of them, or the soak would wait for leases and do
// nothing else.
func (h *hostile) readChunks() {
	pending, _, err := h.inbox.Pending()
	if err != nil {
		return
	}
	for range pending {
		m, err := h.inbox.NextMsg(time.Second)
		if err != nil {
			return
		}
		var chunk nqueensv1.Chunk
		if len(m.Data) == 0 || proto.Unmarshal(m.Data, &chunk) != nil || len(chunk.Tasks) == 0 {
			continue // a status
		}
		h.chunks = append(h.chunks, stolen{&chunk, m.Reply})
		switch h.rng.IntN(10) {
		case 0:
			h.sent["chunk acknowledged uncounted"] += h.publish(m.Reply, "", []byte("+ACK"))
		case 1:
			h.sent["chunk kept"]++
		default:
			_ = h.publish(m.Reply, "", []byte("-NAK"))
		}
	}
	h.chunks = h.chunks[max(0, len(h.chunks)-kept):]
}

// someChunk returns a chunk that the client has taken, of that run if there is one.
func (h *hostile) someChunk(run string) (c stolen, ok bool) {
	for tries := 0; tries < 20 && len(h.chunks) > 0; tries++ {
		if c = h.chunks[h.rng.IntN(len(h.chunks))]; c.Run == run {
			break
		}
	}
	return c, c.Chunk != nil
}

// identity returns a key of the client: that with which it connects, or one of many others, which nobody
// has admitted. Where no worker is admitted there are fewer, because the eighth that counts wrong ends the
// work of all.
func (h *hostile) identity() *identity.Identity {
	keys := 7
	if h.key != nil {
		if keys = 1000; h.rng.IntN(2) == 0 {
			return h.key
		}
	}
	return identitytest.Of(fmt.Sprint("hostile", h.rng.IntN(keys)))
}

// leave checks that the server denies what no worker may send, and disconnects.
func (h *hostile) leave() {
	h.soak.t.Helper()
	if h.soak.keys != nil {
		testkit.Eventually(h.soak.t, "the hostile client is connected", h.conn.IsConnected)
		for _, a := range h.attacks {
			if a.forbidden == "" {
				continue
			}
			before := h.deniedByKind()[a.forbidden]
			testkit.Eventually(h.soak.t, a.name+" is denied", func() bool {
				_ = a.send("n14-no-run")
				_ = h.conn.FlushTimeout(time.Second)
				return h.deniedByKind()[a.forbidden] > before
			})
		}
	}
	h.conn.Close()
}

// hasEnded reports whether the client has ended a run whose coordinator has ended, in one of the ways that
// are possible. Where the servers are open to everybody, that is a record that says that the run is cancelled,
// or wrong counts, which nobody else is there to contradict; where they are not, wrong counts whose spot checks
// were left out because all other workers were away. There is no total then.
func (h *hostile) hasEnded(r *soakRun) bool {
	h.soak.t.Helper()
	what := ""
	switch code := r.coordinator.ExitCode(); {
	case code == 3 && h.lied[r.run] && r.coordinator.Lines("some spot checks are left out|so ended the last run of the same count") > 0:
		what = "run contradicted by wrong counts that nobody was there to check"
	case h.soak.keys != nil:
	case code == 1 && h.cancelled[r.run] && r.coordinator.Lines(`"exit":1,.*was cancelled`) == 1:
		what = "run cancelled by a forged record"
	case code == 3 && h.lied[r.run]:
		what = "run contradicted by wrong counts"
	}
	if what == "" {
		return false
	}
	if out := r.coordinator.Stdout(); out != "" {
		h.soak.t.Fatalf("a %s printed %q", what, out)
	}
	h.soak.struck[what]++
	return true
}

// checkWorkers checks that no worker has ended by itself. Where the servers are open to everybody, a forged
// announcement can send one away.
func (s *soak) checkWorkers() {
	s.t.Helper()
	for i, w := range s.workers {
		if !w.HasEnded() {
			continue
		}
		if s.keys != nil || w.Lines("this worker's key is quarantined") == 0 {
			s.t.Fatalf("a worker has ended with exit code %d", w.ExitCode())
		}
		s.struck["worker sent away by a forged announcement"]++
		s.workers[i] = s.worker(i)
	}
}

// expectNoCrash checks that a process that has ended did not crash.
func (s *soak) expectNoCrash(p *clitest.Process) {
	s.t.Helper()
	if code := p.ExitCode(); code == 2 || p.Lines(`^(panic|fatal error): `) > 0 || p.Lines("DATA RACE") > 0 {
		s.t.Fatalf("%s crashed, with exit code %d", p.Name, code)
	}
}

// deleteForgery deletes the run's record on the server if its coordinator has said that no coordinator
// wrote it.
func (r *soakRun) deleteForgery() {
	r.t.Helper()
	if r.coordinator.Lines("to delete it: nats kv del") == 0 {
		return
	}
	r.view.ask(func(ctx context.Context) error {
		bucket, err := r.view.js.KeyValue(ctx, "nq_runs")
		if err == nil {
			err = bucket.Delete(ctx, r.run)
		}
		return err
	})
}
