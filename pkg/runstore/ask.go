package runstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"nqueens/pkg/queens"
)

// How long the process that works on a run may take to answer: at once, or when it is no longer busy with its
// ledger.
const (
	answerTimeout = time.Second
	liftTimeout   = 30 * time.Second
	maxAnswer     = 1 << 12 // bytes of an answer that is no copy
	pollInterval  = 200 * time.Millisecond
)

// errNoSocket says that no process answers at the socket of a run: none works on it, or none that could make
// a socket.
var errNoSocket = errors.New("no process answers at the socket of the run")

// refusedError is an answer that is an error.
type refusedError struct {
	status int
	text   string
}

func (e *refusedError) Error() string { return queens.Sanitize(e.text) }

// isNotReady reports whether a request may succeed a little later.
func isNotReady(err error) bool {
	return errors.Is(err, errNoSocket) || isRefused(err, http.StatusServiceUnavailable)
}

// isRefused reports whether an error is an answer with that status.
func isRefused(err error, status int) bool {
	var refused *refusedError
	return errors.As(err, &refused) && refused.status == status
}

// ask makes a request of the process that works on a run. The caller reads the answer until ctx ends, and closes
// it. The error wraps [errNoSocket], is a [refusedError] or the cause of ctx's end, or says that there was no answer.
func (s *Store) ask(ctx context.Context, name, method, path string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, "http://run/"+path, http.NoBody)
	if err != nil {
		return nil, err
	}
	client := &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext:       func(ctx context.Context, _, _ string) (net.Conn, error) { return s.dial(ctx, name) },
	}}
	response, err := client.Do(request)
	if failed := (*url.Error)(nil); errors.As(err, &failed) {
		err = failed.Err // without the URL, which nobody has typed
	}
	switch {
	case err == nil && response.StatusCode == http.StatusOK:
		return response, nil
	case err == nil:
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case errors.Is(err, errNoSocket):
		return nil, err
	default:
		return nil, fmt.Errorf("the process that works on the run has not answered: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	var answer answerError
	if err := json.NewDecoder(io.LimitReader(response.Body, maxAnswer)).Decode(&answer); err != nil || answer.Error == "" {
		answer.Error = "the process that works on the run answers " + response.Status
	}
	return nil, &refusedError{response.StatusCode, answer.Error}
}

// request makes a request whose answer says nothing but that it is carried out.
func (s *Store) request(ctx context.Context, name, path string, timeout time.Duration) error {
	ctx, cancel := context.WithTimeoutCause(ctx, timeout,
		fmt.Errorf("the process that works on the run has not answered for %v: see whether it hangs", timeout))
	defer cancel()
	response, err := s.ask(ctx, name, http.MethodPost, path)
	if err != nil {
		return err
	}
	return response.Body.Close()
}

// pause waits a moment before the next attempt, or until ctx ends.
func pause(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(pollInterval):
	}
}

// listen listens at the socket of a run, whose ledger is locked: a socket that is there is one of
// a process that was killed. Only the owner of the process can connect.
func (s *Store) listen(name string) (net.Listener, error) {
	if err := os.Remove(filepath.Join(s.Folder(name), controlSocket)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	path, done, err := shortPath(s.Folder(name))
	if err != nil {
		return nil, err
	}
	defer done()
	path = filepath.Join(path, controlSocket)
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, err
	}
	listener.SetUnlinkOnClose(false) // by the path, which may be short-lived
	if err := os.Chmod(path, 0o600); err != nil {
		_ = os.Remove(path)
		return nil, errors.Join(err, listener.Close())
	}
	return listener, nil
}

// dial connects to the process that has the run's ledger open for writing.
func (s *Store) dial(ctx context.Context, name string) (net.Conn, error) {
	path, done, err := shortPath(s.Folder(name))
	if err != nil {
		return nil, err
	}
	defer done()
	conn, err := new(net.Dialer).DialContext(ctx, "unix", filepath.Join(path, controlSocket))
	if err != nil {
		err = fmt.Errorf("%w: %w", errNoSocket, err)
	}
	return conn, err
}

// maxSocketPath is how long the path of a socket may be on every system.
const maxSocketPath = 100

// shortPath returns a path of the folder that is short enough for a socket in it: its own, or
// that of a temporary link, which done removes.
func shortPath(folder string) (path string, done func(), err error) {
	if len(folder)+1+len(controlSocket) <= maxSocketPath {
		return folder, func() {}, nil
	}
	target, err := filepath.Abs(folder)
	if err != nil {
		return "", nil, err
	}
	temporary, err := os.MkdirTemp("", "nqueens")
	if err != nil {
		return "", nil, err
	}
	done = func() { _ = os.RemoveAll(temporary) } // the link, not what it leads to
	path = filepath.Join(temporary, "run")
	if err := os.Symlink(target, path); err != nil {
		done()
		return "", nil, err
	}
	return path, done, nil
}
