package session

import (
	"crypto/rand"
	"fmt"

	"github.com/rs/zerolog"

	"nqueens/pkg/bus"
	"nqueens/pkg/bus/natsserver"
	"nqueens/pkg/humanize"
	"nqueens/pkg/join"
)

// server is the coordinator's connection to its NATS server, and what others need to know about the server.
type server struct {
	bus      *bus.Bus
	embedded *natsserver.Server // nil for an outside server
	worker   bus.Options        // of the connection of this process's worker
	alone    bool               // no other process can connect
	name     string             // for people
	url      string             // for processes of this machine; empty if they can't connect
	join     string             // what to type to start a worker elsewhere; empty if no worker can join
}

// connect connects to the outside server, or starts the embedded one and connects to it.
func (s *Session) connect() (*server, error) {
	if s.cfg.Server != nil {
		options := *s.cfg.Server
		options.Log, options.Wait = s.cfg.Log, true
		b, err := bus.Connect(options)
		if err != nil {
			return nil, err
		}
		worker := options
		worker.Log = options.Log.Level(zerolog.ErrorLevel) // the coordinator's connection says it
		return &server{
			bus: b, worker: worker, name: "server " + b.Server(), url: options.URL, join: s.cfg.Join,
		}, nil
	}
	v := &server{alone: s.cfg.Listen == "", name: "server in this process"}
	config := natsserver.Config{Listen: s.cfg.Listen, Log: s.cfg.Log}
	options := bus.Options{Log: s.cfg.Log, Name: "nqueens coordinator"}
	v.worker = bus.Options{Log: s.cfg.Log, Name: "nqueens worker"}
	var token join.Token
	var err error
	if !v.alone {
		if token, config.TLS, err = join.Listening(s.cfg.Store.Path(), s.cfg.Listen); err != nil {
			return nil, fmt.Errorf("the join token: %w", err)
		}
		own := rand.Text()
		config.Authorization = join.Authorization(map[string]string{join.Coordinator: own, join.Worker: token.Password})
		options.User, options.Password = join.Coordinator, own
		v.worker.User, v.worker.Password = join.Worker, token.Password
	}
	if v.embedded, err = natsserver.Start(config); err != nil {
		return nil, err
	}
	if !v.alone { // now the port is known, even if --listen asked for any free port
		path, err := token.Publish(s.cfg.Store.Path(), v.embedded.Addresses(s.cfg.Advertise))
		if err != nil {
			v.embedded.Stop()
			return nil, fmt.Errorf("the join token: %w", err)
		}
		v.url, v.join = token.URLs(), humanize.Command("worker", "--join", path)
		v.name = "server in this process, at " + s.cfg.Listen
	}
	options.InProcess, v.worker.InProcess = v.embedded, v.embedded
	if v.bus, err = bus.Connect(options); err != nil {
		v.embedded.Stop()
		return nil, err
	}
	return v, nil
}

// connectWorker returns a connection for the worker of this process.
func (v *server) connectWorker() (*bus.Bus, error) { return bus.Connect(v.worker) }

func (v *server) close() {
	v.bus.Close()
	if v.embedded != nil {
		v.embedded.Stop()
	}
}
