package dashboard

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"nqueens/pkg/queens"
	"nqueens/pkg/run"
	"nqueens/pkg/split"
	"nqueens/pkg/symmetry"
)

const ownRun = "n8-own"

// pipes is a listener whose connections are pipes in memory: they wait on fake time, and buffer nothing.
type pipes struct {
	connections chan net.Conn
	closed      chan struct{}
	once        sync.Once
}

func newPipes() *pipes { return &pipes{connections: make(chan net.Conn), closed: make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.connections:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

func (p *pipes) dial(context.Context, string, string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case p.connections <- theirs:
		return ours, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

// served is a page that is served within a test.
type served struct {
	*Page
	t      *testing.T
	pipes  *pipes
	client *http.Client
	stop   func() // ends the page, and then the server
}

// serve serves a page with the timeouts of the real server until the test ends.
func serve(t *testing.T, cfg Config) *served {
	t.Helper()
	cfg.Version = "test"
	if cfg.Source == "" {
		cfg.Source = Coordinator
	}
	page := New(cfg)
	s := &served{Page: page, t: t, pipes: newPipes()}
	s.client = &http.Client{
		Transport:     &http.Transport{DialContext: s.pipes.dial, DisableCompression: true, DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	const timeout = 5 * time.Second
	httpServer := &http.Server{Handler: page, ReadTimeout: timeout, WriteTimeout: timeout, IdleTimeout: timeout}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { page.Run(ctx) })
	var serving sync.WaitGroup
	serving.Go(func() { _ = httpServer.Serve(s.pipes) }) // its error is that it was closed
	s.stop = sync.OnceFunc(func() {
		cancel()
		running.Wait()
		_ = httpServer.Close() // it is of no more use
		serving.Wait()
	})
	t.Cleanup(s.stop)
	return s
}

// get asks for a path, and returns the answer with its text.
func (s *served) get(path string) (*http.Response, string) {
	s.t.Helper()
	response, err := s.client.Do(request(path))
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }() // it was only read
	text, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return response, string(text)
}

// request returns a GET request with headers, each a name and a value.
func request(path string, headers ...string) *http.Request {
	r := httptest.NewRequest(http.MethodGet, "http://localhost:8080"+path, http.NoBody)
	r.RequestURI = ""
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return r
}

// object asks for a path, and decodes the JSON object.
func (s *served) object(path string) (object map[string]any) {
	s.t.Helper()
	response, text := s.get(path)
	if response.StatusCode != http.StatusOK {
		s.t.Fatalf("%s: %s %s", path, response.Status, text)
	}
	if err := json.Unmarshal([]byte(text), &object); err != nil {
		s.t.Fatalf("%s: %v in %s", path, err, text)
	}
	return object
}

// sent is a server-sent event.
type sent struct{ name, data string }

// listener is a browser that reads events.
type listener struct {
	body   io.ReadCloser
	reader *bufio.Reader
}

// listen connects to the events.
func (s *served) listen() *listener {
	s.t.Helper()
	response, err := s.client.Do(request(apiRoot + "/events"))
	if err != nil {
		s.t.Fatal(err)
	}
	if response.StatusCode != http.StatusOK || response.Header.Get("Content-Type") != "text/event-stream" {
		s.t.Fatalf("events: %s %v", response.Status, response.Header)
	}
	s.t.Cleanup(func() { _ = response.Body.Close() })
	return &listener{response.Body, bufio.NewReader(response.Body)}
}

var errComment = errors.New("a comment")

// next returns the next event, or errComment, or the error of the connection.
func (l *listener) next() (e sent, err error) {
	for {
		line, err := l.reader.ReadString('\n')
		switch {
		case err != nil:
			return e, err
		case strings.HasPrefix(line, ":"):
			_, _ = l.reader.ReadString('\n') // fails at the next call too
			return e, errComment
		case strings.HasPrefix(line, "event: "):
			e.name = strings.TrimSpace(line[len("event: "):])
		case strings.HasPrefix(line, "data: "):
			e.data = strings.TrimSpace(line[len("data: "):])
		case line == "\n":
			return e, nil
		}
	}
}

// await returns the next event of a name.
func (l *listener) await(t *testing.T, name string) map[string]any {
	t.Helper()
	for {
		e, err := l.next()
		if err != nil && !errors.Is(err, errComment) {
			t.Fatalf("no event %s: %v", name, err)
		}
		if err == nil && e.name == name {
			var object map[string]any
			if err := json.Unmarshal([]byte(e.data), &object); err != nil {
				t.Fatalf("%v in %s", err, e.data)
			}
			return object
		}
	}
}

// snapshot returns a snapshot with so many tasks done.
func snapshot(done uint64) *run.Snapshot {
	return &run.Snapshot{
		Run: ownRun, N: 8, Symmetry: queens.Full, State: run.Running, At: time.Now(), Done: done, Tasks: 10, WorkDone: run.Fraction(done) / 10,
		Solutions: (*run.Decimal)(big.NewInt(int64(done))), Rate: 5, Workers: 1, Threads: 2,
		WorkerList: []run.Worker{{Name: "w", Kernel: "generic", Threads: 2}},
	}
}

// complete returns the last snapshot.
func complete() *run.Snapshot {
	s := snapshot(10)
	s.State, s.WorkerList = run.Complete, nil
	s.SetTotal(big.NewInt(92), &run.Confirmation{Published: true, Redundancy: 1, Tasks: 10})
	return s
}

// plan returns the manifest of a run.
func plan(t *testing.T) *queens.Manifest {
	t.Helper()
	classes, err := symmetry.Classes(8, queens.Full)
	if err != nil {
		t.Fatal(err)
	}
	m, err := split.Plan(t.Context(), 8, queens.Full, classes, 2)
	if err != nil {
		t.Fatal(err)
	}
	return &m
}
