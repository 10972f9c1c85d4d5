package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"time"

	"github.com/rs/zerolog"

	"nqueens/pkg/bus"
	"nqueens/pkg/cli"
	"nqueens/pkg/durable"
	"nqueens/pkg/humanize"
	"nqueens/pkg/join"
)

// servers say where a worker finds coordinators: on one server that the flags name, or on the
// servers that this user has started with coordinator count --listen.
type servers struct {
	data      string        // folder in which the servers of this user are; empty with flags
	options   bus.Options   // of the present server
	goneAfter time.Duration // before another server takes the place of one that is gone
	poll      time.Duration // between two looks for another server
}

// errServerGone says that the worker should go on at another server of this user.
var errServerGone = errors.New("the server is gone, and another one of this user answers")

// servers returns the server that the flags name, or else the newest one of this user that answers.
// If none answers, it is the one that the token of this user names: it may start later.
func (o *runFlags) servers(log zerolog.Logger) (s *servers, err error) {
	s = &servers{goneAfter: 30 * time.Second, poll: 5 * time.Second}
	if !o.server.IsSet() {
		if s.data, err = durable.StateFolder(); err != nil {
			return nil, err
		}
		path, there := join.Own(s.data)
		if !there {
			return nil, cli.Usagef("there is no token %s: "+
				"start %s count N --listen on this machine, or name a server with --join FILE or --nats URL",
				path, humanize.Program("coordinator"))
		}
		o.server.Join = path
	}
	if s.options, err = o.server.Connection("nqueens worker"); err != nil {
		return nil, cli.Usagef("%w", err)
	}
	s.options.Wait, s.options.Log = true, log
	s.move()
	return s, nil
}

// move makes the newest server of this user that answers the present one. It reports whether this
// is another one than before.
func (s *servers) move() bool {
	if s.data == "" {
		return false
	}
	for _, token := range join.Running(s.data) {
		if answers(token.Servers) {
			before, next := s.options, bus.WithToken(token, s.options.Name)
			next.Wait, next.Log = before.Wait, before.Log
			s.options = next
			return next.URL != before.URL
		}
	}
	return false
}

// follow returns [errServerGone] when there was no connection for long, and another server of this
// user answers. Else it returns nil when ctx ends.
func (s *servers) follow(ctx context.Context, connected func() bool) error {
	looks := time.NewTicker(s.poll)
	defer looks.Stop()
	gone := s.options.URL
	for last := time.Now(); ; {
		select {
		case <-ctx.Done():
			return nil
		case <-looks.C:
		}
		if connected() {
			last = time.Now()
		} else if time.Since(last) >= s.goneAfter && s.move() {
			text := "the server at " + gone + " is gone: going on at " + s.options.URL
			s.options.Log.Info().Str("server", s.options.URL).Str(humanize.LogField, text).
				Msg("going on at another server")
			return errServerGone
		}
	}
}

// answerTimeout bounds the wait for a server on this machine.
const answerTimeout = time.Second

// answers reports whether a NATS server answers at one of the addresses. A NATS server speaks
// first.
func answers(addresses []string) bool {
	for _, address := range addresses {
		conn, err := net.DialTimeout("tcp", address, answerTimeout)
		if err != nil {
			continue
		}
		_ = conn.SetDeadline(time.Now().Add(answerTimeout)) // without it the read waits longer
		greeting := make([]byte, len("INFO "))
		_, err = io.ReadFull(conn, greeting)
		_ = conn.Close() // nothing was sent
		if err == nil && bytes.Equal(greeting, []byte("INFO ")) {
			return true
		}
	}
	return false
}
