package bus

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"

	"nqueens/pkg/bus/natsserver"
	"nqueens/pkg/join"
	"nqueens/pkg/queens"
	"nqueens/pkg/testkit"
)

var process = queens.Process{Machine: queens.Machine{User: queens.WorkerUser, Name: "m-1"},
	Name: "p_1"}

// must returns a function that returns the value, or ends the test with the error.
func must[T any](value T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

func startServer(t *testing.T, cfg natsserver.Config) *natsserver.Server {
	t.Helper()
	cfg.Log = zerolog.Nop()
	s := must(natsserver.Start(cfg))(t)
	t.Cleanup(s.Stop)
	return s
}

// refusal returns why a server refuses a connection. It is the error of Connect, or else of Wait.
func refusal(t *testing.T, o Options) error {
	t.Helper()
	b, err := Connect(t.Context(), o)
	if err != nil {
		return err
	}
	defer b.Close()
	return b.Wait(t.Context())
}

func connect(t *testing.T, o Options) *Bus {
	t.Helper()
	b := must(Connect(t.Context(), o))(t)
	t.Cleanup(b.Close)
	return b
}

// connectRaw returns a NATS client without a Bus.
func connectRaw(t *testing.T, server *natsserver.Server) *nats.Conn {
	t.Helper()
	c := must(nats.Connect("", nats.InProcessServer(server),
		nats.CustomInboxPrefix(inbox(queens.WorkerUser))))(t)
	t.Cleanup(c.Close)
	return c
}

// lines is a log that a test reads.
type lines chan string

func (l lines) Write(line []byte) (int, error) {
	select {
	case l <- string(line):
	default: // the channel is full: the test reads no more
	}
	return len(line), nil
}

// serve answers work requests and deliveries of a run.
func serve(t *testing.T, b *Bus, reply *queens.WorkReply, got func(queens.Process, FromWorker)) {
	t.Helper()
	t.Cleanup(must(b.ServeWork("r", func(m Message) {
		message, err := DecodeFromWorker(m.Data)
		if err != nil {
			t.Error(err)
			return
		}
		got(m.From, message)
		var data []byte
		if message.Request != nil {
			data, err = EncodeWorkReply(reply)
		} else {
			data, err = EncodeDeliveryReply(&someReceipts)
		}
		if err = errors.Join(err, m.Reply(data)); err != nil {
			t.Error(err)
		}
	}))(t))
}

// A work request, a delivery and a status request reach the coordinator of their run, and their
// senders get the replies. Without a coordinator they fail at once.
func TestRequests(t *testing.T) {
	server := startServer(t, natsserver.Config{})
	coordinator, worker := connect(t, Options{InProcess: server}),
		connect(t, Options{InProcess: server})
	ctx := t.Context()
	_, err1 := worker.RequestWork(ctx, "r", process, &someRequest)
	_, err2 := worker.Deliver(ctx, "r", process, &someDelivery)
	if _, err3 := worker.Status(ctx, "r"); !errors.Is(err1, ErrNoCoordinator) ||
		!errors.Is(err2, ErrNoCoordinator) || !errors.Is(err3, ErrNoCoordinator) {
		t.Errorf("without a coordinator: %v, %v, %v", err1, err2, err3)
	}
	messages := make(chan FromWorker, 2)
	serve(t, coordinator, &someReply, func(from queens.Process, m FromWorker) {
		if from != process {
			t.Errorf("a message from %v", from)
		}
		messages <- m
	})
	defer must(coordinator.ServeStatus("r", someSnapshot))(t)()
	reply, err := worker.RequestWork(ctx, "r", process, &someRequest)
	if m := <-messages; err != nil || len(reply.Chunks) != len(someReply.Chunks) || m.Request == nil ||
		m.Request.Number != someRequest.Number {
		t.Errorf("work reply %+v to %+v, error %v", reply, m.Request, err)
	}
	receipts, err := worker.Deliver(ctx, "r", process, &someDelivery)
	if m := <-messages; err != nil || len(receipts.Receipts) != len(someReceipts.Receipts) ||
		m.Delivery == nil || m.Delivery.Results[0].Hash != someDelivery.Results[0].Hash {
		t.Errorf("receipts %+v for %+v, error %v", receipts, m.Delivery, err)
	}
	if s, err := worker.Status(ctx, "r"); err != nil || s.Done != someSnapshot().Done {
		t.Errorf("snapshot %+v, error %v", s, err)
	}
	// An empty request, as a person may send it, also gets the snapshot.
	if m, err := connectRaw(t, server).Request("nq.status.r.worker", nil, 5*time.Second); err != nil ||
		!strings.Contains(string(m.Data), fmt.Sprintf(`"protocol":%d`, Protocol)) {
		t.Errorf("an empty status request: %v", err)
	}
}

// A coordinator replies only to inboxes of the user in the subject. It may publish on all subjects
// of the program, so a reply elsewhere would speak in its name. It hears no worker of its own user
// on the wire, and no invalid name.
func TestRepliesStayWithTheUser(t *testing.T) {
	server := startServer(t, natsserver.Config{})
	b, raw := connect(t, Options{InProcess: server}), connectRaw(t, server)
	defer must(b.ServeWork("r", func(m Message) {
		if err := m.Reply([]byte("reply")); err != nil {
			t.Error(err)
		}
	}))(t)()
	defer must(b.ServeStatus("r", someSnapshot))(t)()
	heard := make(chan string, 100)
	for _, subject := range []string{"nq.run", "_INBOX.>", "elsewhere"} {
		must(raw.Subscribe(subject, func(m *nats.Msg) { heard <- m.Subject }))(t)
	}
	const work, status = "nq.work.r.alice.m.p", "nq.status.r.alice"
	for subject, replies := range map[string][]string{
		work: {"nq.run", "elsewhere", "_INBOX.bob.x", "_INBOX.alice",
			"_INBOX.alice.", "_INBOX.alicex.y", "_INBOX.alice.>", "_INBOX.alice.*"},
		status:                      {"nq.run", "elsewhere", "_INBOX.bob.x", "_INBOX.alice.*.x"},
		"nq.work.r.coordinator.m.p": {"_INBOX.coordinator.x"},
		"nq.work.r.Alice.m.p":       {"_INBOX.Alice.x"},
	} {
		for _, reply := range replies {
			if err := raw.PublishRequest(subject, reply, nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	for i, subject := range []string{work, status} { // these come last, and both are answered
		if err := raw.PublishRequest(subject, fmt.Sprint("_INBOX.alice.good", i), nil); err != nil {
			t.Fatal(err)
		}
	}
	good := 0
	for subject := range heard {
		if !strings.HasPrefix(subject, "_INBOX.alice.good") {
			t.Errorf("a reply on %s", subject)
		}
		good++
		if good == 2 {
			break
		}
	}
}

// A connection has a number of its own after each reconnection, so that a request is not taken for
// an older one.
func TestConnectionsAreNumbered(t *testing.T) {
	address := testkit.Address(t)
	first := startServer(t, natsserver.Config{Listen: address})
	a, b := connect(t, Options{URL: "nats://" + address}),
		connect(t, Options{URL: "nats://" + address})
	connections := make(chan uint64, 10)
	serve(t, a, &someReply, func(_ queens.Process, m FromWorker) {
		connections <- m.Request.Connection
	})
	r := someRequest
	ask := func() uint64 {
		for {
			r.Number++
			if _, err := b.RequestWork(t.Context(), "r", process, &r); err == nil {
				return <-connections
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	one, two := ask(), ask()
	first.Stop()
	for a.Connected() || b.Connected() {
		time.Sleep(time.Millisecond)
	}
	startServer(t, natsserver.Config{Listen: address})
	if three := ask(); one != two || one == three || one*three == 0 {
		t.Errorf("connections %d, %d and, after a reconnection, %d", one, two, three)
	}
}

// Announcements are heard. One that can't be read, or has another version, is logged once, and
// later ones are heard.
func TestAnnouncements(t *testing.T) {
	server := startServer(t, natsserver.Config{})
	log := make(lines, 100)
	a := connect(t, Options{InProcess: server})
	b := connect(t, Options{InProcess: server, Log: zerolog.New(log), Process: process})
	heard := make(chan queens.Announcement, 1)
	stop := must(b.Announcements(func(a queens.Announcement) { heard <- a }))(t)
	raw := connectRaw(t, server)
	told := must(raw.SubscribeSync("nq.work.>"))(t)
	other := string([]byte{1 << 3, Protocol + 1}) + "\x12\x01r"
	for _, data := range []string{other, other, "garbage"} {
		if err := raw.Publish("nq.run", []byte(data)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(raw.Flush(), a.Announce(&someAnnouncement)); err != nil {
		t.Fatal(err)
	}
	if got := <-heard; got != someAnnouncement {
		t.Errorf("heard %+v", got)
	}
	stop()
	n := 0
	for range len(log) {
		n += strings.Count(<-log,
			fmt.Sprintf("protocol version %d, this program version %d", Protocol+1, Protocol))
	}
	if n != 1 {
		t.Errorf("the other version is logged %d times", n)
	}
	// The coordinator of the other version is told so, once: its log then names both versions too.
	m, err := told.NextMsg(5 * time.Second)
	if err != nil || m.Subject != workSubject("r", process) || checkVersion(m.Data) != nil {
		t.Fatalf("the coordinator of another version hears %+v (%v)", m, err)
	}
	if m, err := told.NextMsg(10 * time.Millisecond); err == nil {
		t.Errorf("it hears %s again", m.Subject)
	}
}

// A stranger's announcement of another version names a run, or nothing happens.
func FuzzRunOfOtherVersion(f *testing.F) {
	f.Add([]byte("\x08\x09\x12\x01r"))
	f.Fuzz(func(_ *testing.T, data []byte) { runOfOtherVersion(data) })
}

// At most 1000 warnings are logged and remembered, so that a stranger can't fill the memory.
func TestManyWarnings(t *testing.T) {
	b := &Bus{said: make(map[string]bool)}
	for i := range 1010 {
		b.warnOnce(fmt.Sprint(i), nil, "a warning")
	}
	if len(b.said) != 1000 {
		t.Errorf("%d warnings are remembered", len(b.said))
	}
}

// If a coordinator of another version answers, the worker gets an error with both versions. A
// coordinator ignores a message if its subject does not name a valid process.
func TestOtherVersion(t *testing.T) {
	server := startServer(t, natsserver.Config{})
	a, b := connect(t, Options{InProcess: server}), connect(t, Options{InProcess: server})
	raw := connectRaw(t, server)
	must(raw.Subscribe("nq.work.other.*.*.*", func(m *nats.Msg) {
		_ = m.Respond([]byte{1 << 3, Protocol + 1})
	}))(t)
	if err := raw.Flush(); err != nil {
		t.Fatal(err)
	}
	var version *VersionError
	if _, err := b.RequestWork(t.Context(), "other", process, &someRequest); !errors.As(err,
		&version) || version.Version != Protocol+1 {
		t.Errorf("error %v", err)
	}
	serve(t, a, &someReply, func(from queens.Process, _ FromWorker) {
		if from != process {
			t.Errorf("a message from %v", from)
		}
	})
	if _, err := raw.Request("nq.work.r.worker.m.not$valid", nil,
		100*time.Millisecond); !errors.Is(err, nats.ErrTimeout) {
		t.Errorf("a process without a valid name: %v", err)
	}
	if _, err := b.RequestWork(t.Context(), "r", process, &someRequest); err != nil {
		t.Error(err)
	}
}

// A reply may have max_payload bytes. Sending a larger one fails, and the connection stays.
func TestSizes(t *testing.T) {
	server := startServer(t, natsserver.Config{})
	a, b := connect(t, Options{InProcess: server}), connect(t, Options{InProcess: server})
	if a.MaxPayload() != natsserver.MaxPayload {
		t.Errorf("max_payload is %d", a.MaxPayload())
	}
	large := &queens.WorkReply{Number: 1, Instance: 1,
		Chunks: []queens.Chunk{{Board: queens.FullBoard(8)}}}
	chunk := &large.Chunks[0]
	encode := func(tasks int) []byte {
		chunk.Tasks, chunk.Prefixes = uint64(tasks), make([][]queens.Prefix, tasks)
		for i := range chunk.Prefixes {
			chunk.Prefixes[i] = make([]queens.Prefix, 250)
		}
		return must(EncodeWorkReply(large))(t)
	}
	perTask := len(encode(1001)) - len(encode(1000))
	fits := (natsserver.MaxPayload - 1000) / perTask
	replies := make(chan []byte, 1)
	defer must(a.ServeWork("r", func(m Message) {
		if err := m.Reply(make([]byte, natsserver.MaxPayload+1)); !errors.Is(err, nats.ErrMaxPayload) {
			t.Errorf("a reply above max_payload: %v", err)
		}
		if err := m.Reply(<-replies); err != nil {
			t.Error(err)
		}
	}))(t)()
	replies <- encode(fits)
	if got, err := b.RequestWork(t.Context(), "r", process, &someRequest); err != nil ||
		len(got.Chunks[0].Prefixes) != fits {
		t.Errorf("a reply of %d tasks: %v", fits, err)
	}
	replies <- make([]byte, natsserver.MaxPayload)
	if _, err := b.RequestWork(t.Context(), "r", process, &someRequest); err == nil ||
		errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a reply of max_payload zeros: %v", err)
	}
}

// An empty server can replace a dead one: coordinator and worker find it by themselves. While there
// is no server, sending fails at once, and the message is not sent later.
func TestServerIsReplaced(t *testing.T) {
	address := testkit.Address(t)
	first := startServer(t, natsserver.Config{Listen: address})
	o := Options{URL: "nats://" + address}
	a := connect(t, o)
	log := make(lines, 100)
	o.Log = zerolog.New(log)
	b := connect(t, o)
	requests := make(chan uint64, 10)
	serve(t, a, &someReply, func(_ queens.Process, m FromWorker) { requests <- m.Request.Number })
	first.Stop()
	for a.Connected() || b.Connected() {
		time.Sleep(time.Millisecond)
	}
	for line := ""; !strings.Contains(line, "connection lost"); {
		line = <-log
		if strings.Contains(line, "lost") && !strings.Contains(line, errEnded.Error()) {
			t.Errorf("a server that stops: %s", line)
		}
	}
	send := func(number uint64) error {
		r := someRequest
		r.Number = number
		_, err := b.RequestWork(t.Context(), "r", process, &r)
		return err
	}
	if err := send(1); err == nil || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a request without a connection: %v", err)
	}
	if err := a.Announce(&someAnnouncement); err == nil {
		t.Error("an announcement without a connection")
	}
	startServer(t, natsserver.Config{Listen: address})
	for send(2) != nil {
		time.Sleep(10 * time.Millisecond)
	}
	if n := <-requests; n != 2 {
		t.Errorf("request %d reached the coordinator first", n)
	}
}

// If the server refuses a token, the error says what to do. With a valid token, a process may do
// only what the token's user may.
func TestToken(t *testing.T) {
	access := `authorization { users: [ { user: coordinator, password: secret1 }
		{ user: worker, password: secret2, permissions: { publish: ["nq.work.*.worker.*.*"], subscribe: ["nq.run", "_INBOX.worker.>"] } } ] }`
	server := startServer(t, natsserver.Config{Listen: "127.0.0.1:0", Authorization: access})
	err := refusal(t, Options{URL: server.URL(), Wait: true, User: "worker", Password: "old",
		Log: zerolog.Nop()})
	if !errors.Is(err, queens.ErrNoConnection) ||
		!strings.Contains(err.Error(), "refuses this token") || strings.Contains(err.Error(), "old") {
		t.Errorf("a wrong password: %v", err)
	}
	a := connect(t, Options{InProcess: server, User: "coordinator", Password: "secret1"})
	b := connect(t, Options{URL: server.URL(), User: "worker", Password: "secret2"})
	serve(t, a, &someReply, func(queens.Process, FromWorker) {})
	if _, err := b.RequestWork(t.Context(), "r", process, &someRequest); err != nil {
		t.Error(err)
	}
	if err := b.Announce(&someAnnouncement); err != nil {
		t.Fatal(err)
	}
	if err := b.Wait(t.Context()); !errors.Is(err, queens.ErrNoConnection) ||
		!strings.Contains(err.Error(), "nq.run") {
		t.Errorf("a worker that announces: %v", err)
	}
}

// The holder of a join token connects with TLS, and only to the server with the token's
// certificate. The token has the port that the server chose.
func TestJoin(t *testing.T) {
	const anywhere = "0.0.0.0:0" // there is no TLS on loopback
	data := t.TempDir()
	token, config, err := join.Listening(data, anywhere)
	if err != nil {
		t.Fatal(err)
	}
	other, otherConfig, err := join.Listening(t.TempDir(), anywhere)
	if err != nil {
		t.Fatal(err)
	}
	server := startServer(t, natsserver.Config{
		Listen: anywhere, TLS: config,
		Authorization: join.Passwords{token.User: token.Password}.Authorization(),
	})
	token = must(join.Load(must(token.Publish(data, server.Address(), server.Addresses("127.0.0.1")))(t)))(t)
	log := make(lines, 100)
	worker := connect(t,
		Options{URL: token.URLs(), User: token.User, Password: token.Password, TLS: token.TLS(),
			Log: zerolog.New(log)})
	if _, err := worker.RequestWork(t.Context(), "r", process, &someRequest); !errors.Is(err,
		ErrNoCoordinator) {
		t.Errorf("a work request: %v", err)
	}
	err = refusal(t, Options{URL: token.URLs(), User: token.User, Password: token.Password,
		TLS: other.TLS(), Wait: true})
	if !errors.Is(err, queens.ErrNoConnection) ||
		!strings.Contains(err.Error(), "the token has another certificate") {
		t.Errorf("with the certificate of another server: %v", err)
	}
	address := server.Address()
	server.Stop()
	startServer(t, natsserver.Config{Listen: address, TLS: otherConfig})
	go func() { _ = worker.Wait(t.Context()) }()
	for line := range log { // it says that another server has replaced the first
		if strings.Contains(line, "refuses the connection") &&
			strings.Contains(line, "the token has another certificate") {
			return
		}
	}
}

// A process that waits for its first server ends if the server refuses its token or has another
// certificate.
func TestFirstServerRefuses(t *testing.T) {
	address := testkit.Address(t)
	b := connect(t, Options{URL: "nats://" + address, Wait: true, User: "worker", Password: "old"})
	c := connect(t, Options{URL: "tls://" + address, Wait: true,
		TLS: &tls.Config{MinVersion: tls.VersionTLS13}})
	startServer(t, natsserver.Config{Listen: address,
		Authorization: `authorization { users: [ { user: worker, password: new } ] }`})
	for _, b := range []*Bus{b, c} {
		if err := b.Wait(t.Context()); !errors.Is(err, queens.ErrNoConnection) {
			t.Errorf("error %v", err)
		}
	}
}

// If the max_payload of the server is too small, the connection ends with an error. The server may
// be the first one, or replace another.
func TestSmallPayload(t *testing.T) {
	address := testkit.Address(t)
	for _, first := range []bool{true, false} {
		var b *Bus
		if !first {
			large := startServer(t, natsserver.Config{Listen: address})
			b = connect(t, Options{URL: "nats://" + address})
			large.Stop()
		}
		small := startServer(t, natsserver.Config{Listen: address, Authorization: "max_payload: 65536"})
		if first {
			b = connect(t, Options{URL: "nats://" + address})
		}
		if err := b.Wait(t.Context()); !errors.Is(err, queens.ErrNoConnection) ||
			!strings.Contains(err.Error(), "max_payload") {
			t.Errorf("first %v: error %v", first, err)
		}
		small.Stop()
	}
}

// Errors of the first connection say what to do, and hide passwords.
func TestConnectFails(t *testing.T) {
	address := testkit.Address(t)
	for url, want := range map[string]string{
		"nats://u:pw-9@" + address: "is a server running there",
		"nats://u:pw-9@a b":        "is not the address of a server",
	} {
		_, err := Connect(t.Context(), Options{URL: url, Log: zerolog.Nop()})
		if !errors.Is(err, queens.ErrNoConnection) || !strings.Contains(fmt.Sprint(err), want) ||
			strings.Contains(err.Error(), "pw-9") {
			t.Errorf("%s: %v", url, err)
		}
	}
	b := connect(t, Options{URL: "nats://" + address, Wait: true})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := b.Wait(ctx); err != nil || b.Connected() {
		t.Errorf("a connection that waits for a server: %v", err)
	}
}
