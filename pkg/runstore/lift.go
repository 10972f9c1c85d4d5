package runstore

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"nqueens/pkg/ledger"
	"nqueens/pkg/queens"
)

// liftSocket is the socket in the folder of a run at which its coordinator ends the quarantine of a
// key. A client sends the key and a line feed, and gets a line: "ok", or why not.
const liftSocket = "lift.sock"

// liftTimeout is how long a coordinator may take to end a quarantine: it may be busy with its
// ledger. maxLine bounds what either side reads.
const (
	liftTimeout = 30 * time.Second
	maxLine     = 1 << 12
)

// ErrNotQuarantined says that there is no quarantine to lift.
var ErrNotQuarantined = errors.New("no run has quarantined the key")

// ServeLifts lets other processes end quarantines of a run whose ledger this process has open for
// writing, see [Store.Lift], one after another, until ctx ends or stop is called. Failures are
// logged, and change nothing for the run.
func (s *Store) ServeLifts(ctx context.Context, name string, lift func(ctx context.Context, key string) error) (stop func()) {
	log := s.log.With().Str("run", name).Logger()
	listener, err := s.listen(name, liftSocket)
	if err != nil {
		log.Warn().Err(err).Msg("quarantines of the run can't be lifted while it counts")
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			conn, err := listener.Accept()
			if err == nil {
				err = answerLift(ctx, conn, lift)
			}
			if err != nil && ctx.Err() == nil {
				log.Warn().Err(err).Msg("a request to lift a quarantine failed")
				pause(ctx, acceptPause)
			}
		}
	}()
	unblock := context.AfterFunc(ctx, func() { _ = listener.Close() })
	return func() {
		cancel()
		unblock()
		_ = listener.Close()
		_ = os.Remove(filepath.Join(s.Folder(name), liftSocket))
		<-ended
	}
}

// answerLift answers a request, and closes the connection, at once if ctx ends.
func answerLift(ctx context.Context, conn net.Conn, lift func(ctx context.Context, key string) error) error {
	defer func() { _ = conn.Close() }() // the client has the answer, or an error is known
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	if err := conn.SetDeadline(time.Now().Add(stallTimeout)); err != nil {
		return err
	}
	key, err := readLine(conn)
	if err == nil {
		err = queens.ValidateKey(key)
	}
	if err == nil {
		err = lift(ctx, key)
	}
	answer := "ok"
	if err != nil {
		answer = strings.ReplaceAll(err.Error(), "\n", " ")
	}
	if err := conn.SetDeadline(time.Now().Add(stallTimeout)); err != nil {
		return err
	}
	_, err = fmt.Fprintln(conn, answer)
	return err
}

func readLine(r io.Reader) (string, error) {
	line, err := bufio.NewReader(io.LimitReader(r, maxLine)).ReadString('\n')
	return strings.TrimSuffix(line, "\n"), err
}

// Lift ends the quarantine of a key in every run of the store in which it is quarantined, whether a
// process works on the run or not, and returns the names of these runs, the newest first. It goes
// on after an error. The error wraps [ErrNotQuarantined] if no run has the key in quarantine.
func (s *Store) Lift(ctx context.Context, key string) (runs []string, err error) {
	if err := queens.ValidateKey(key); err != nil {
		return nil, err
	}
	all, err := s.List()
	for i := range all {
		name := all[i].Run
		lifted, failed := s.liftIn(ctx, name, key)
		if failed != nil {
			err = errors.Join(err, fmt.Errorf("run %s: %w", name, failed))
		}
		if lifted {
			runs = append(runs, name)
		}
	}
	if err == nil && len(runs) == 0 {
		err = fmt.Errorf("%w %s in %s: nothing is lifted", ErrNotQuarantined, key, s.path)
	}
	return runs, err
}

// liftIn ends the quarantine of a key in a run, and reports whether there was one.
func (s *Store) liftIn(ctx context.Context, name, key string) (lifted bool, err error) {
	l, err := s.OpenReadOnly(name)
	if errors.As(err, new(*ledger.LockedError)) {
		return s.requestLift(name, key)
	}
	if err != nil {
		return false, err
	}
	quarantined := l.IsQuarantined(key)
	if err := l.Close(); err != nil || !quarantined {
		return false, err
	}
	if l, err = s.Open(ctx, name); err != nil {
		return false, err
	}
	err = l.Lift(key)
	return err == nil, errors.Join(err, l.Close())
}

// requestLift asks the process that works on a run.
func (s *Store) requestLift(name, key string) (lifted bool, err error) {
	conn, err := s.dial(name, liftSocket)
	if err != nil {
		return false, fmt.Errorf("a process works on it, and can't be asked: %w: try again, or stop it first", err)
	}
	defer func() { _ = conn.Close() }() // it has answered, or not
	if err := conn.SetDeadline(time.Now().Add(liftTimeout)); err != nil {
		return false, err
	}
	if _, err := fmt.Fprintln(conn, key); err != nil {
		return false, err
	}
	answer, err := readLine(conn)
	switch {
	case err != nil:
		return false, fmt.Errorf("the process that works on it does not answer: %w", err)
	case answer == "ok":
		return true, nil
	case strings.HasSuffix(answer, "is not quarantined"):
		return false, nil
	}
	return false, errors.New(queens.Sanitize(answer))
}
