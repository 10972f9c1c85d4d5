package runstore

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"nqueens/pkg/ledger"
	"nqueens/pkg/run"
)

// This file is the side of the process that works on a run; ask.go has that of the others.

// controlSocket is the socket in the folder of a run at which its process answers others, by HTTP:
//
//	POST /cancel         the run ends for good
//	POST /stop           the run ends as by Ctrl-C
//	POST /lift?key=KEY   the quarantine of a key ends; 409 if there is none
//	GET  /backup         a copy of the ledger as it is now
//	GET  /status         the run as [Info], as [Store.Inspect] returns it
//
// It is open from before the ledger is read; 503 answers what has to wait for that. An error is
// {"error": "why"}.
const controlSocket = "control.sock"

// While a copy is written, the ledger needs more room, see [ledger.Ledger.WriteCopy]. So a reader may
// pause only for stallTimeout, and a copy may take only copyTimeout.
const (
	stallTimeout = 10 * time.Second
	copyTimeout  = 2 * time.Minute
)

// requestInterval is how often a process looks for a request in a file.
const requestInterval = time.Second

// Control lets other processes ask the one that works on a run: to cancel or stop it, to copy its ledger, to
// lift a quarantine. Failures are logged, and change nothing for the run.
type Control struct {
	store *Store
	name  string
	log   zerolog.Logger
	// Both may be called again. Stop ends this process as Ctrl-C does, and cancel closes cancelled.
	stop, cancel func()

	server    *http.Server // nil without a socket
	socket    fs.FileInfo
	ended     chan struct{}
	listening sync.WaitGroup
	cancelled chan struct{}
	copying   chan struct{} // holds a token while a copy is written

	mu     sync.Mutex
	ledger *ledger.Ledger                              // nil until it is read
	status Info                                        // from then on
	lift   func(ctx context.Context, key string) error // nil while nothing is counted
}

// NewControl returns the control of a run, which answers once [Store.Work] has locked its ledger, or from
// [Control.Listen] on. A request to stop calls stop once.
func (s *Store) NewControl(name string, stop func()) *Control {
	cancelled := make(chan struct{})
	return &Control{
		store: s, name: name, log: s.log.With().Str("run", name).Logger(),
		stop: sync.OnceFunc(stop), cancel: sync.OnceFunc(func() { close(cancelled) }),
		ended: make(chan struct{}), cancelled: cancelled, copying: make(chan struct{}, 1),
	}
}

// Work opens the ledger of a run for writing, see [Store.Open]. From when it is locked, c answers.
func (s *Store) Work(ctx context.Context, c *Control) (*ledger.Ledger, error) {
	l, err := s.open(ctx, c.name, c.listen)
	if err != nil {
		c.Close()
		return nil, err
	}
	c.serve(l)
	return l, nil
}

// Listen answers for a ledger that this process has created.
func (c *Control) Listen(l *ledger.Ledger) {
	c.listen(l)
	c.serve(l)
}

// listen answers at the socket, and looks for files. The ledger is locked, so what is there of both is left by
// a process that was killed.
func (c *Control) listen(l *ledger.Ledger) {
	c.store.withdraw(c.name)
	c.listening.Go(c.watchFiles)
	listener, err := c.store.listen(c.name)
	if err == nil {
		c.socket, err = os.Lstat(filepath.Join(c.store.Folder(c.name), controlSocket))
	}
	if err != nil {
		c.log.Warn().Err(err).Msg("the folder of the run has no socket: until it ends it can be stopped and cancelled, but not " +
			"backed up, and no quarantine can be lifted")
		return
	}
	l.SetSocket(controlSocket)
	c.server = &http.Server{
		Handler: c.handler(), ReadHeaderTimeout: stallTimeout, IdleTimeout: stallTimeout, MaxHeaderBytes: 1 << 14,
	}
	c.listening.Go(func() { _ = c.server.Serve(listener) }) // until it is closed
}

func (c *Control) serve(l *ledger.Ledger) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ledger, c.status = l, newInfo(l)
	c.status.State, c.status.Manifest, c.status.DoneByClass = run.Running, nil, nil
}

// ServeLifts has lift called for requests to end a quarantine, until the function that it returns is called.
func (c *Control) ServeLifts(lift func(ctx context.Context, key string) error) (stop func()) {
	set := func(lift func(ctx context.Context, key string) error) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.lift = lift
	}
	set(lift)
	return func() { set(nil) }
}

// AwaitCancel returns an error once a process has asked for the cancellation of the run, and nil if ctx ends.
func (c *Control) AwaitCancel(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case <-c.cancelled:
		return run.ErrCancelled
	}
}

// Close ends all answers. The ledger can be closed then.
func (c *Control) Close() {
	close(c.ended)
	if c.server != nil {
		_ = c.server.Close()
		path := filepath.Join(c.store.Folder(c.name), controlSocket)
		if now, err := os.Lstat(path); err == nil && os.SameFile(now, c.socket) { // not that of the next process
			_ = os.Remove(path)
		}
	}
	c.listening.Wait()
	select {
	case c.copying <- struct{}{}:
	case <-time.After(stallTimeout): // a ledger that failed may block for good
	}
}

// watchFiles looks for requests in files: where no socket works.
func (c *Control) watchFiles() {
	tick := time.NewTicker(requestInterval)
	defer tick.Stop()
	for {
		select {
		case <-c.ended:
			return
		case <-tick.C:
		}
		if c.store.isRequested(c.name, cancelRequest) {
			c.cancel()
		}
		if c.store.isRequested(c.name, stopRequest) {
			c.stop()
		}
	}
}

// refusal is an error with the status of its answer; other errors are 500.
type refusal struct {
	status int
	error
}

var errLoading = refusal{
	http.StatusServiceUnavailable,
	errors.New("the process that works on the run does not count yet, or no longer: try again"),
}

func (c *Control) handler() http.Handler {
	mux := http.NewServeMux()
	handle := func(pattern string, f func(w http.ResponseWriter, r *http.Request) error) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			if err := f(w, r); err != nil {
				writeError(w, err)
			}
		})
	}
	handle("POST /"+cancelRequest, func(http.ResponseWriter, *http.Request) error { c.cancel(); return nil })
	handle("POST /"+stopRequest, func(http.ResponseWriter, *http.Request) error { c.stop(); return nil })
	handle("POST /lift", c.answerLift)
	handle("GET /backup", c.sendCopy)
	handle("GET /status", c.answerStatus)
	return mux
}

// answerError is the text of an answer that is an error.
type answerError struct {
	Error string `json:"error"`
}

func writeError(w http.ResponseWriter, err error) {
	status := http.StatusInternalServerError
	if r := (refusal{}); errors.As(err, &r) {
		status = r.status
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(answerError{err.Error()}) // fails if the client has gone
}

func (c *Control) answerLift(_ http.ResponseWriter, r *http.Request) error {
	key := r.URL.Query().Get("key")
	if err := run.ValidateKey(key); err != nil {
		return refusal{http.StatusBadRequest, err}
	}
	c.mu.Lock()
	lift := c.lift
	c.mu.Unlock()
	if lift == nil {
		return errLoading
	}
	err := lift(r.Context(), key)
	if errors.Is(err, ledger.ErrNotQuarantined) {
		return refusal{http.StatusConflict, err}
	}
	return err
}

// sendCopy answers with a copy of the ledger, one at a time.
func (c *Control) sendCopy(w http.ResponseWriter, r *http.Request) error {
	c.mu.Lock()
	l := c.ledger
	c.mu.Unlock()
	if l == nil {
		return errLoading
	}
	select {
	case <-r.Context().Done():
		return context.Cause(r.Context())
	case c.copying <- struct{}{}:
	}
	defer func() { <-c.copying }()
	out := &patientWriter{w, http.NewResponseController(w), time.Now().Add(copyTimeout)}
	begun := false
	err := l.WriteCopy(out, func(size int64) error {
		begun = true
		w.Header().Set("Content-Length", strconv.FormatInt(size, 10))
		return nil
	})
	select {
	case <-c.ended: // the run has ended, and the client reads the file
		err = cmp.Or(err, http.ErrAbortHandler)
	default:
		if err != nil {
			c.log.Warn().Err(err).Msg("a backup failed")
		}
	}
	if err != nil && begun {
		panic(http.ErrAbortHandler) // closes the connection: the client sees that the copy is incomplete
	}
	return err
}

// patientWriter writes an answer whose reader may pause for stallTimeout, up to the end of its time.
type patientWriter struct {
	http.ResponseWriter
	connection *http.ResponseController
	end        time.Time
}

func (w *patientWriter) Write(p []byte) (int, error) {
	deadline := time.Now().Add(stallTimeout)
	if deadline.After(w.end) {
		deadline = w.end
	}
	if err := w.connection.SetWriteDeadline(deadline); err != nil {
		return 0, err
	}
	return w.ResponseWriter.Write(p)
}
