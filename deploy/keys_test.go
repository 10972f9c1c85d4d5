//go:build cluster

package deploy_test

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"nqueens/pkg/identity"
)

// file returns the content of a file of a container, running or not.
func (c *cluster) file(container, path string) []byte {
	c.t.Helper()
	to := filepath.Join(c.t.TempDir(), filepath.Base(path))
	c.docker(waitTimeout, "cp", container+":"+path, to)
	data, err := os.ReadFile(to)
	if err != nil {
		c.t.Fatal(err)
	}
	return data
}

// key returns a file of the cluster's keys. It reads each once.
func (c *cluster) key(path string) []byte {
	c.t.Helper()
	if _, known := c.keys[path]; !known {
		c.keys[path] = c.file(c.containers("keys")[0], "/keys/"+path)
	}
	return c.keys[path]
}

// identity returns the key of a user.
func (c *cluster) identity(user string) *identity.Identity {
	c.t.Helper()
	id, err := identity.Parse(c.key(user + ".nkey"))
	if err != nil {
		c.t.Fatal(err)
	}
	return id
}

// tls returns a configuration that trusts the authority of the cluster and no other.
func (c *cluster) tls() *tls.Config {
	c.t.Helper()
	authority := x509.NewCertPool()
	if !authority.AppendCertsFromPEM(c.key("ca.crt")) {
		c.t.Fatal("ca.crt has no certificate")
	}
	return &tls.Config{RootCAs: authority, MinVersion: tls.VersionTLS12}
}

// connect connects to the server as a foreign program would.
func (c *cluster) connect(options ...nats.Option) (*nats.Conn, error) {
	conn, err := nats.Connect("tls://"+c.server, append(options, nats.Secure(c.tls()), nats.MaxReconnects(0), nats.Timeout(waitTimeout))...)
	if err == nil {
		c.t.Cleanup(conn.Close)
	}
	return conn, err
}

// TestKeys checks that docker compose up makes keys, without which nobody connects, that each role
// may do its part only, that keys survive what containers do not, and that a revoked key is out.
func TestKeys(t *testing.T) {
	t.Parallel()
	// The workers are stopped while commands run, which take a while on a busy machine, so that the run outlasts
	// them.
	c := newCluster(t, workloadLasting(t, 120*time.Second))
	c.up()
	c.expectProgress("up with new keys")
	c.compose("stop", "worker")
	c.expectNoStrangers()
	c.expectOnlyTheirFiles()
	c.expectWorkersOnlyWork()
	c.expectRevoked()
	c.expectAnotherToken()

	keys := []string{"ca.crt", "users", "coordinator.nkey", "watcher.nkey", "worker/join.token", "server/server.crt", "server/server.key"}
	before := make(map[string]string)
	for _, path := range keys {
		before[path] = string(c.key(path))
	}
	identities := c.workerKeys()
	c.compose("restart", "nats")
	c.compose("start", "worker")
	c.expectProgress("stopped the workers, which have the old token, restarted the server, and started the workers")
	c.compose("stop", "worker")
	c.up() // nothing has changed
	c.compose("up", "--detach", "--force-recreate")
	c.expectProgress("up, with new containers: also the coordinator, which resumes")
	c.compose("stop", "worker")
	c.keys = make(map[string][]byte)
	for _, path := range keys {
		if string(c.key(path)) != before[path] {
			t.Errorf("up has changed %s", path)
		}
	}
	if now := c.workerKeys(); !slices.Equal(now, identities) || now[0] == now[len(now)-1] {
		t.Errorf("the keys of the workers are %q, and were %q: each must have its own and keep it", now, identities)
	}
	c.compose("start", "worker")
	c.expectTotal()
}

// expectAnotherToken replaces the token: the server disconnects who has joined with the old one, which is
// of no use any more.
func (c *cluster) expectAnotherToken() {
	c.t.Helper()
	old, err := identity.ParseToken(c.key("worker/join.token"))
	if err != nil {
		c.t.Fatal(err)
	}
	joined, err := c.connect(nats.UserInfo("join", old.Secret))
	if err != nil {
		c.t.Fatal(err)
	}
	c.compose("run", "--rm", "keys", "keys", "revoke", "join-token")
	c.compose("kill", "--signal", "HUP", "nats")
	c.eventually("the server has disconnected a user of the old token", joined.IsClosed)
	delete(c.keys, "worker/join.token")
	token, err := identity.ParseToken(c.key("worker/join.token"))
	if err != nil || token.Secret == old.Secret {
		c.t.Errorf("the token has not changed, error %v", err)
	}
	if _, err := c.connect(nats.UserInfo("join", old.Secret)); !errors.Is(err, nats.ErrAuthorization) {
		c.t.Errorf("a worker with the old token connects with error %v", err)
	}
	if _, err := c.connect(nats.UserInfo("join", token.Secret)); err != nil {
		c.t.Errorf("a worker with the new token: %v", err)
	}
	c.t.Logf("replaced the token")
}

// expectProgress waits until more tasks are done.
func (c *cluster) expectProgress(after string) {
	c.t.Helper()
	c.awaitMore(1)
	c.t.Logf("%s: the run has progressed", after)
}

// workerKeys returns the keys of the workers, which are in their containers, sorted.
func (c *cluster) workerKeys() (keys []string) {
	c.t.Helper()
	for _, id := range c.containers("worker") {
		key, err := identity.Parse(c.file(id, "/identity/worker.nkey"))
		if err != nil {
			c.t.Fatal(err)
		}
		keys = append(keys, key.Key())
	}
	slices.Sort(keys)
	return keys
}

// expectNoStrangers checks that nobody connects without TLS, a key or the token.
func (c *cluster) expectNoStrangers() {
	c.t.Helper()
	stranger, err := identity.New()
	if err != nil {
		c.t.Fatal(err)
	}
	for name, options := range map[string][]nats.Option{
		"nothing":                          nil,
		"a key of its own":                 {nats.Nkey(stranger.Key(), stranger.Sign)},
		"no password":                      {nats.UserInfo("join", "")},
		"another token":                    {nats.UserInfo("join", strings.Repeat("A", 52))},
		"the known key of the coordinator": {nats.Nkey(c.identity("coordinator").Key(), stranger.Sign)},
	} {
		if _, err := c.connect(options...); !errors.Is(err, nats.ErrAuthorization) {
			c.t.Errorf("a client with %s connects with error %v, want a refusal", name, err)
		}
	}
	if conn, err := nats.Connect("nats://"+c.server, nats.Timeout(waitTimeout), nats.TLSHandshakeFirst()); err == nil {
		conn.Close()
		c.t.Error("a client that does not know the authority connects")
	}
	c.t.Logf("nobody connects without a key or the token")
}

// expectOnlyTheirFiles checks the users and mounts of the services.
func (c *cluster) expectOnlyTheirFiles() {
	c.t.Helper()
	for service, want := range map[string]struct {
		user   string
		mounts []string // volumes, with * if they can be written
	}{
		"keys":        {"65532:65532", []string{"keys*", "keys-coordinator*", "keys-server*", "keys-worker*"}},
		"nats":        {"65533:65532", []string{"", "keys-server", "nats*"}},
		"coordinator": {"65532:65532", []string{"keys-coordinator", "runs*"}},
		"worker":      {"65532:65532", []string{"*", "keys-worker"}},
	} {
		info := c.inspect(c.containers(service)[0])
		var mounts []string
		for _, m := range info.Mounts {
			name, ours := strings.CutPrefix(m.Name, c.project+"_")
			if !ours {
				name = "" // a file of the host, or an anonymous volume
			}
			if m.RW {
				name += "*"
			}
			mounts = append(mounts, name)
		}
		slices.Sort(mounts)
		if !slices.Equal(mounts, want.mounts) || info.Config.User != want.user {
			c.t.Errorf("%s runs as %s with the volumes %q, want %s and %q", service, info.Config.User, mounts, want.user, want.mounts)
		}
	}
	for service, want := range map[string][]string{
		"coordinator": {"ca.crt", "coordinator.nkey", "join.token", "users"},
		"worker":      {"join.token"},
	} {
		to := filepath.Join(c.t.TempDir(), service)
		c.docker(waitTimeout, "cp", c.containers(service)[0]+":/keys", to)
		var names []string
		err := filepath.WalkDir(to, func(path string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				names = append(names, strings.TrimPrefix(path, to+"/"))
			}
			return err
		})
		if err != nil {
			c.t.Fatal(err)
		}
		if !slices.Equal(names, want) {
			c.t.Errorf("%s has the keys %q, want %q", service, names, want)
		}
	}
	c.t.Logf("each service has only the files that it needs")
}

// expectWorkersOnlyWork checks that a worker can't publish tasks or forge progress, and that a watcher
// can't either.
func (c *cluster) expectWorkersOnlyWork() {
	c.t.Helper()
	token, err := identity.ParseToken(c.key("worker/join.token"))
	if err != nil {
		c.t.Fatal(err)
	}
	watcher := c.identity("watcher")
	for name, login := range map[string]nats.Option{
		"worker":  nats.UserInfo("join", token.Secret),
		"watcher": nats.Nkey(watcher.Key(), watcher.Sign),
	} {
		denied := make(chan error, 8)
		conn, err := c.connect(login, nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { denied <- err }))
		if err != nil {
			c.t.Errorf("a %s can't connect: %v", name, err)
			continue
		}
		subjects := []string{"nq.task.forged", "nq.progress.forged", "nq.live.forged", "$KV.nq_runs.forged", "$JS.API.STREAM.PURGE.NQ_TASKS"}
		for _, subject := range subjects {
			if err := errors.Join(conn.Publish(subject, []byte("{}")), conn.FlushTimeout(waitTimeout)); err != nil {
				c.t.Error(err)
			}
			c.eventually(fmt.Sprintf("a %s that publishes to %s is denied", name, subject), func() bool {
				select {
				case err := <-denied:
					if errors.Is(err, nats.ErrPermissionViolation) && strings.Contains(err.Error(), strconv.Quote(subject)) {
						return true
					}
					c.t.Errorf("a %s that publishes to %s gets the error %v", name, subject, err)
				default:
				}
				return false
			})
		}
	}
	c.t.Logf("workers and watchers can't publish tasks, progress, announcements or records, or purge streams")
}

// expectRevoked adds a worker with a key of its own, and revokes it: the server disconnects the worker,
// and does not let it in again.
func (c *cluster) expectRevoked() {
	c.t.Helper()
	c.compose("run", "--rm", "keys", "keys", "add", "worker", "lab")
	c.compose("kill", "--signal", "HUP", "nats")
	lab := c.identity("lab")
	var conn *nats.Conn
	c.eventually("the server knows the added key", func() (connected bool) {
		var err error
		conn, err = c.connect(nats.Nkey(lab.Key(), lab.Sign))
		return err == nil
	})
	c.compose("run", "--rm", "keys", "keys", "revoke", "lab")
	c.compose("kill", "--signal", "HUP", "nats")
	c.eventually("the server has disconnected the revoked key", conn.IsClosed)
	if _, err := c.connect(nats.Nkey(lab.Key(), lab.Sign)); !errors.Is(err, nats.ErrAuthorization) {
		c.t.Errorf("a worker with a revoked key connects with error %v", err)
	}
	c.t.Logf("added and revoked a worker's key")
}
