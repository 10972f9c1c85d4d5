package session

import (
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"github.com/rs/zerolog"

	"nqueens/pkg/bus"
	"nqueens/pkg/bus/natsserver"
	"nqueens/pkg/humanize"
	"nqueens/pkg/join"
	"nqueens/pkg/queens"
)

// server is the coordinator's connection to its NATS server, and what others need to know about the
// server.
type server struct {
	bus      *bus.Bus
	embedded *natsserver.Server // nil for an outside server
	alone    bool               // no other process can connect
	name     string             // for people
	url      string             // for processes of this machine; empty if they can't connect
	// what to type to start a worker elsewhere; empty if no worker can join
	join string
	// folder of the tokens that the embedded server accepts; empty if there are none
	tokens string
	users  join.Passwords // that the embedded server accepts
	data   string         // folder in which the embedded server is published; empty if it is not
	log    zerolog.Logger
}

// connect connects to the outside server, or starts the embedded one and connects to it.
func (s *Session) connect(ctx context.Context) (*server, error) {
	if s.cfg.Server != nil {
		options := *s.cfg.Server
		options.Log, options.Wait = s.cfg.Log, true
		b, err := bus.Connect(ctx, options)
		if err != nil {
			return nil, err
		}
		return &server{bus: b, name: "server " + b.Server(), url: options.URL, join: s.cfg.Join}, nil
	}
	v := &server{alone: s.cfg.Listen == "", name: "server in this process", log: s.cfg.Log}
	config := natsserver.Config{Listen: s.cfg.Listen, Log: s.cfg.Log}
	options := bus.Options{Log: s.cfg.Log, Name: "nqueens coordinator", User: queens.CoordinatorUser}
	var token join.Token
	var err error
	if !v.alone {
		if token, config.TLS, err = join.Listening(s.cfg.Store.Path(), s.cfg.Listen); err != nil {
			return nil, fmt.Errorf("the join token: %w", err)
		}
		path, _ := join.Own(s.cfg.Store.Path())
		v.tokens, options.Password = filepath.Dir(path), rand.Text()
		v.users = join.Passwords{queens.CoordinatorUser: options.Password,
			queens.WorkerUser: token.Password}
		config.Authorization = v.users.Authorization()
	}
	if v.embedded, err = natsserver.Start(config); err != nil {
		return nil, err
	}
	if !v.alone { // now the port is known, even if --listen asked for any free port
		v.data = s.cfg.Store.Path()
		path, err := token.Publish(v.data, v.embedded.Address(), v.embedded.Addresses(s.cfg.Advertise))
		if err == nil {
			err = v.takeUsers()
		}
		if err != nil {
			v.stop()
			return nil, fmt.Errorf("the join token: %w", err)
		}
		v.url, v.join = token.URLs(), humanize.Command("worker", "--join", path)
		v.name = "server in this process, at " + s.cfg.Listen
	}
	options.InProcess = v.embedded
	if v.bus, err = bus.Connect(ctx, options); err != nil {
		v.stop()
		return nil, err
	}
	return v, nil
}

// lookForUsers is the time between two looks for users that were invited or removed.
const lookForUsers = time.Second

// watchUsers lets the embedded server accept users that are invited while it runs, and drop those
// that are removed. It returns when ctx ends.
func (v *server) watchUsers(ctx context.Context) error {
	if v.tokens == "" {
		return nil
	}
	looks := time.NewTicker(lookForUsers)
	defer looks.Stop()
	failed := ""
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-looks.C:
		}
		err := v.takeUsers()
		if err != nil && err.Error() != failed {
			v.log.Warn().Err(err).Msg("the tokens of some users can't be used")
		}
		if failed = ""; err != nil {
			failed = err.Error()
		}
	}
}

// takeUsers lets the embedded server accept exactly the users with a token in the folder of the
// tokens, and the coordinator. It logs which users are new or gone. Only other connections than
// those of users that are gone stay.
func (v *server) takeUsers() error {
	users, unreadable := join.ReadPasswords(v.tokens)
	users[queens.CoordinatorUser] = v.users[queens.CoordinatorUser]
	// a token that is damaged while the server runs changes nothing
	if _, there := users[queens.WorkerUser]; !there {
		users[queens.WorkerUser] = v.users[queens.WorkerUser]
	}
	if maps.Equal(users, v.users) {
		return unreadable
	}
	if err := v.embedded.Authorize(users.Authorization()); err != nil {
		return err
	}
	v.logUsers("invited", "may join", users, v.users)
	v.logUsers("removed", "may not join any more", v.users, users)
	v.users = users
	return unreadable
}

// logUsers logs the users that are in the first set and not in the second one.
func (v *server) logUsers(message, text string, in, notIn join.Passwords) {
	for _, user := range slices.Sorted(maps.Keys(in)) {
		if _, there := notIn[user]; !there {
			v.log.Info().Str("user", user).Str(humanize.LogField, "user "+user+" "+text).Msg(message)
		}
	}
}

func (v *server) close() {
	v.bus.Close()
	v.stop()
}

// stop ends the embedded server, if there is one.
func (v *server) stop() {
	if v.embedded == nil {
		return
	}
	if v.data != "" {
		if err := join.Unpublish(v.data, v.embedded.Address()); err != nil {
			v.log.Warn().Err(err).Msg("workers may still look for the server of this process")
		}
	}
	v.embedded.Stop()
}
