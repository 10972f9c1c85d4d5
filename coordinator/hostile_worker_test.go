//go:build unix

package main_test

import (
	"errors"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"google.golang.org/protobuf/proto"

	"nqueens/pkg/bus"
	"nqueens/pkg/identity"
	"nqueens/pkg/testkit"
	nqueensv1 "nqueens/proto/nqueens/v1"
)

// greedy is a client with the key of one admitted worker, which takes chunks and counts none.
type greedy struct {
	t     *testing.T
	run   string
	key   *identity.Identity
	conn  *nats.Conn
	inbox *nats.Subscription
	taken []uint64 // chunks
}

func startGreedy(t *testing.T, c *cluster, user, run string) *greedy {
	t.Helper()
	g := &greedy{t: t, run: run, key: c.identity(user)}
	prefix := "_INBOX_" + g.key.Key()
	var err error
	if g.conn, err = nats.Connect(c.url, nats.Nkey(g.key.Key(), g.key.Sign), nats.CustomInboxPrefix(prefix), nats.NoReconnect(), nats.Secure(c.tls())); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.conn.Close)
	if g.inbox, err = g.conn.SubscribeSync(prefix + ".chunks"); err != nil {
		t.Fatal(err)
	}
	return g
}

// take takes the chunks that wait, and answers each. It reports whether there were any.
func (g *greedy) take(answer string) bool {
	g.t.Helper()
	g.publish(pull(g.run), g.inbox.Subject, []byte(`{"batch":1000,"expires":1000000000}`))
	before := len(g.taken)
	for {
		m, err := g.inbox.NextMsg(testkit.Stall)
		if err != nil {
			g.t.Fatal(err)
		}
		var chunk nqueensv1.Chunk
		if len(m.Data) == 0 || proto.Unmarshal(m.Data, &chunk) != nil { // a status ends the request
			return len(g.taken) > before
		}
		g.taken = append(g.taken, chunk.Id)
		g.publish(m.Reply, "", []byte(answer))
	}
}

// claim has workers that do not exist say that they search all these chunks.
func (g *greedy) claim(workers int) {
	g.t.Helper()
	for i := range workers {
		m := nqueensv1.HeartbeatStatement{
			Worker: fmt.Sprint("phantom", i), Version: "v", Kernel: "k", Threads: 1, SentNs: uint64(time.Now().UnixNano()),
		}
		for _, id := range g.taken {
			m.Held = append(m.Held, &nqueensv1.HeldChunk{Run: g.run, Chunk: id, Searching: true})
		}
		statement := g.encode(&m)
		signature, err := g.key.Sign(append([]byte("nqueens heartbeat 1\n"), statement...))
		if err != nil {
			g.t.Fatal(err)
		}
		g.publish("nq.hb.phantom", "", g.encode(&nqueensv1.Heartbeat{
			Protocol: bus.Protocol, Worker: m.Worker, Statement: statement, Key: g.key.Key(), Signature: signature,
		}))
	}
}

func (g *greedy) encode(m proto.Message) []byte {
	g.t.Helper()
	data, err := proto.Marshal(m)
	if err != nil {
		g.t.Fatal(err)
	}
	return data
}

func (g *greedy) publish(subject, reply string, data []byte) {
	g.t.Helper()
	err := g.conn.PublishMsg(&nats.Msg{Subject: subject, Reply: reply, Data: data})
	if err != nil && !errors.Is(err, nats.ErrConnectionClosed) { // after its key was revoked
		g.t.Error(err)
	}
}

// One admitted worker takes all chunks, postpones them for a year, and has workers search them that do not exist.
// The others wait until its key is revoked: then they get its chunks, and the run ends with its total. The log says
// what happens and what to do.
func TestOneHostileWorkerEndsNoRun(t *testing.T) {
	long(t)
	c := startGuarded(t, "hostile")
	coordinator := startCount(t, append(c.as("coordinator"), "12", "--depth", "2")...)
	g := startGreedy(t, c, "hostile", coordinator.Await(counting))
	postpone := fmt.Sprintf(`-NAK {"delay": %d}`, 365*24*time.Hour.Nanoseconds())
	testkit.Eventually(t, "it has taken all chunks", func() bool { return !g.take(postpone) && len(g.taken) > 0 })
	ended := make(chan struct{})
	defer func() { g.conn.Close(); <-ended }()
	go func() {
		defer close(ended)
		for g.conn.IsConnected() {
			g.claim(5)
			time.Sleep(time.Second)
		}
	}()
	coordinator.Await(`("joined":\[[^]]*"phantom0".*"fleet changed")`)
	start(t, "worker", append(c.as("worker"), "--threads", "1")...)
	coordinator.Await(`("joined":\["[^"]+-[0-9a-f]{6}".*"fleet changed")`)
	c.run("revoke", "hostile", "--keys", c.keys)
	c.server.Signal(syscall.SIGHUP)
	testkit.Eventually(t, "its connection is closed", func() bool { return !g.conn.IsConnected() })
	coordinator.Await(`("lost":\[.*"fleet changed")`)
	coordinator.ExpectTotal(known(12))
	coordinator.Await(`(none that is connected holds them: publishing them again.*coordinator keys revoke)`)
	if coordinator.Lines("dead-lettered")+coordinator.Lines("counting a task that lost workers") > 0 {
		t.Error("a task is dead-lettered, or counted by the coordinator: its workers did not exist")
	}
}
