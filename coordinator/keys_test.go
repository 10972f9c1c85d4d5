//go:build unix

package main_test

import (
	"crypto/tls"
	"crypto/x509"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"nqueens/pkg/bus"
	"nqueens/pkg/cli/clitest"
	"nqueens/pkg/identity"
)

// cluster is a nats-server with the configuration of a folder of keys.
type cluster struct {
	t      *testing.T
	keys   string
	server *clitest.Process
	url    string
}

// startGuarded starts a server with a user of each role, named as the role, and further workers.
func startGuarded(t *testing.T, workers ...string) *cluster {
	t.Helper()
	c := initKeys(t, workers...)
	s := startServerAt(t, "127.0.0.1:-1", t.TempDir(), "-c", filepath.Join(c.keys, "server", "auth.conf"))
	c.server, c.url = s.Process, "tls"+strings.TrimPrefix(s.url, "nats")
	return c
}

// initKeys makes the keys of a cluster whose server is not running yet.
func initKeys(t *testing.T, workers ...string) *cluster {
	t.Helper()
	c := &cluster{t: t, keys: filepath.Join(t.TempDir(), "keys")}
	c.run("init", "--keys", c.keys)
	for _, name := range workers {
		c.run("add", "worker", name, "--keys", c.keys)
	}
	return c
}

// identity returns the key of a user.
func (c *cluster) identity(user string) *identity.Identity {
	c.t.Helper()
	id, err := identity.Load(c.file(user + ".nkey"))
	if err != nil {
		c.t.Fatal(err)
	}
	return id
}

// tls returns how to know the server.
func (c *cluster) tls() *tls.Config {
	c.t.Helper()
	authority, err := os.ReadFile(c.file("ca.crt"))
	if err != nil {
		c.t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(authority)
	return &tls.Config{RootCAs: pool}
}

// run runs coordinator keys.
func (c *cluster) run(args ...string) {
	c.t.Helper()
	r := clitest.Run(c.t, nil, append([]string{"coordinator", "keys"}, args...)...)
	if r.Code != 0 {
		c.t.Fatalf("keys %q: exit %d: %s", args, r.Code, r.Stderr)
	}
}

func (c *cluster) file(name string) string { return filepath.Join(c.keys, name) }

// as are the flags of a user.
func (c *cluster) as(name string) []string {
	return []string{"--nats", c.url, "--tls-ca", c.file("ca.crt"), "--nkey", c.file(name + ".nkey")}
}

func (c *cluster) withToken() []string {
	return []string{"--nats", c.url, "--token-file", c.file("worker/join.token")}
}

func TestEachRoleOfACluster(t *testing.T) {
	long(t)
	c := startGuarded(t)
	for name, user := range map[string][]string{"a key": c.as("worker"), "the token": c.withToken()} {
		count := startCount(t, append(c.as("coordinator"), "10")...)
		run := count.Await(counting)
		listed := clitest.Run(t, nil, append([]string{"coordinator", "runs"}, c.as("watcher")...)...)
		if listed.Code != 0 || !strings.Contains(listed.Stdout, run) {
			t.Errorf("runs as a watcher: exit %d, %s%s", listed.Code, listed.Stdout, listed.Stderr)
		}
		watch := startWatchJSON(t, append([]string{run}, c.as("watcher")...)...)
		awaitObject(t, watch) // so that it follows the run before it can end
		worker := start(t, "worker", append(user, "--threads", "1")...)
		count.ExpectTotal(known(10))
		expectEnd(t, watch, known(10))
		if worker.HasEnded() {
			t.Errorf("the worker with %s has ended", name)
		}
		worker.Kill()
	}
	count := startCount(t, append(c.as("coordinator"), "12")...)
	run := count.Await(counting)
	cancel := clitest.Run(t, nil, append([]string{"coordinator", "cancel", run}, c.as("coordinator")...)...)
	if cancel.Code != 0 {
		t.Errorf("cancel as a coordinator: exit %d, %s", cancel.Code, cancel.Stderr)
	}
	count.ExpectExit(1)
}

// Each command that a role, a certificate or a token does not allow says so, and ends with exit code 5.
func TestWrongCredentials(t *testing.T) {
	long(t)
	c, other, guarded, open := startGuarded(t), startGuarded(t), startServer(t, "--user", "queen", "--pass", "s3cret"), startServer(t)
	run := startCount(t, append(c.as("coordinator"), "9")...).Await(counting)
	foreign := func(name string) []string { return append(c.as(name), "--tls-ca", other.file("ca.crt")) }
	unknown := func(name string) []string { return append(c.as(name), "--nkey", other.file(name+".nkey")) }
	for what, test := range map[string]struct {
		command string
		flags   []string
		says    string
	}{
		"count as a worker":   {"coordinator count 8", c.as("worker"), "its role is worker, and this needs the role coordinator"},
		"count as a watcher":  {"coordinator count 8", c.as("watcher"), "its role is watcher, and this needs the role coordinator"},
		"count with a token":  {"coordinator count 8", c.withToken(), "its role is worker, and this needs the role coordinator"},
		"runs as a worker":    {"coordinator runs", c.as("worker"), "this needs the role watcher"},
		"watch as a worker":   {"coordinator watch", c.as("worker"), "this needs the role watcher"},
		"watch with a token":  {"coordinator watch " + run, c.withToken(), "its role is worker, and this needs the role watcher"},
		"cancel as a watcher": {"coordinator cancel " + run, c.as("watcher"), "this needs the role coordinator"},
		"cancel as a worker":  {"coordinator cancel " + run, c.as("worker"), "its role is worker"},
		"work as a watcher":   {"worker", c.as("watcher"), "its role is watcher, and this needs the role worker"},
		"count without":       {"coordinator count 8", c.as("worker")[:4], "may also need --nkey, --token-file or --creds"},
		"count, other server": {"coordinator count 8", foreign("coordinator"), "--tls-ca must name the authority"},
		"work, other server":  {"worker", foreign("worker"), "--tls-ca must name the authority"},
		"work, other file":    {"worker", append(c.withToken(), "--token-file", other.file("worker/join.token")), "is the file that of another cluster or run?"},
		"count, other key":    {"coordinator count 8", unknown("coordinator"), "does not know the key"},
		"work, other key":     {"worker", unknown("worker"), "does not know the key"},
		"work, other token":   {"worker", append(c.withToken(), "--token-file", other.file("worker/join.token"), "--tls-ca", c.file("ca.crt")), "does not know the token"},
		"work without TLS":    {"worker", append(c.withToken(), "--nats", open.url), "the server has no TLS"},
		"key for open server": {"worker", []string{"--nats", open.url, "--nkey", c.file("worker.nkey")}, "asks for no key"},
		"count, no password":  {"coordinator count 8", []string{"--nats", guarded.url}, "are the user and password in the address right? the server may also need --nkey"},
		"work, no password":   {"worker", []string{"--nats", guarded.url}, "are the user and password in the address right? the server may also need --nkey"},
		"watch without":       {"coordinator watch", c.as("watcher")[:4], "may also need --nkey"},
	} {
		words := append(strings.Fields(test.command), test.flags...)
		r := clitest.Run(t, nil, words...)
		if r.Code != 5 || !strings.Contains(r.Stderr, test.says) {
			t.Errorf("%s: exit %d without %q:\n%s", what, r.Code, test.says, r.Stderr)
		}
	}
}

// A coordinator whose key is revoked stops. The command in the warning makes another key, with which the run
// resumes.
func TestRunResumesAfterItsCoordinatorIsRevoked(t *testing.T) {
	long(t)
	c, data := startGuarded(t), t.TempDir()
	count := start(t, "coordinator", append([]string{"count", "9", "--data", data}, c.as("coordinator")...)...)
	count.Await(counting)
	revoked := clitest.Run(t, nil, "coordinator", "keys", "revoke", "coordinator", "--keys", c.keys)
	found := regexp.MustCompile(`"level":"warn".*made by (coordinator keys add [^;]*);`).FindStringSubmatch(revoked.Stderr)
	if revoked.Code != 0 || found == nil {
		t.Fatalf("exit %d: %s", revoked.Code, revoked.Stderr)
	}
	c.server.Signal(syscall.SIGHUP)
	count.ExpectExit(5)

	c.run(strings.Fields(found[1])[2:]...)
	c.server.Signal(syscall.SIGHUP)
	c.server.Await(`(?s)Reloaded server configuration.*(Reloaded server configuration)`)
	start(t, "worker", append(c.withToken(), "--threads", "1")...)
	start(t, "coordinator", "resume", "--data", data).ExpectTotal(known(9))
}

// An embedded server that other machines reach admits only those with its token, which no line shows.
func TestListenBeyondThisMachine(t *testing.T) {
	long(t)
	data := t.TempDir()
	listen := func() (*clitest.Process, string) {
		count := start(t, "coordinator", "count", "10", "--new", "--data", data, "--workers", "0", "--listen", "0.0.0.0:0")
		return count, "tls://127.0.0.1:" + count.Await(`join with: worker --nats tls://[^ ]*:(\d+) --token-file -`)
	}
	count, url := listen()
	file := filepath.Join(data, "keys", "worker", "join.token")
	token, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	secret, _, _ := strings.Cut(string(token), "\n")
	if stranger := clitest.Run(t, nil, "worker", "--nats", url); stranger.Code != 5 {
		t.Errorf("a worker without the token: exit %d, %s", stranger.Code, stranger.Stderr)
	}
	// The environment may name the token, for workers.
	watch := clitest.Start(t, []string{"NQUEENS_TOKEN_FILE=" + file}, "coordinator", "watch", "--data", data, "--json")
	awaitObject(t, watch)
	watch.Signal(syscall.SIGINT) // the server stays for seconds at the end of the run, so a watch may miss that
	watch.ExpectExit(128 + int(syscall.SIGINT))
	worker := start(t, "worker", "--nats", url, "--token-file", file, "--threads", "1")
	count.ExpectTotal(known(10))
	for _, p := range []*clitest.Process{count, worker, watch} {
		if strings.Contains(p.Log(), secret) {
			t.Errorf("%s logs the token", p.Name)
		}
	}
	// The token and the certificate are those of all runs.
	again, url := listen()
	start(t, "worker", "--nats", url, "--token-file", file, "--threads", "1")
	again.ExpectTotal(known(10))
}

// A server that only this machine reaches asks for a token too, if one is given or keys must agree. On a machine
// that has nothing of the cluster but the program, the line with which workers join works as it stands: the token
// comes through standard input. That it admits any number of keys is said once.
func TestListenWithAToken(t *testing.T) {
	long(t)
	token := filepath.Join(t.TempDir(), "a token")
	if err := os.WriteFile(token, []byte("a-token-of-our-own-making\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	data := t.TempDir()
	for _, flags := range [][]string{{"--token-file", token}, {"--redundancy", "2", "--workers", "1"}} {
		count := start(t, "coordinator", append([]string{"count", "8", "--data", data, "--new", "--workers", "0", "--listen", "127.0.0.1:0"}, flags...)...)
		worker := count.Await(`join with: (worker --nats tls://[^ ]* --token-file -); paste into it the output of: `)
		paste := count.Await(`paste into it the output of: ([^"]*)"`)
		clitest.Shell(t, t.TempDir(), nil, paste+" | "+worker+" --threads 1")
		count.ExpectTotal(known(8))
		if n, redundant := count.Lines(`"redundancy":2,.*the join token admits any number of keys`), flags[0] == "--redundancy"; redundant != (n == 1) {
			t.Errorf("with %q, it says %d times that the token admits any number of keys", flags, n)
		}
	}
}

// The embedded server learns of keys that are added and revoked, and of another token, without a restart:
// it disconnects who may not connect any more, and nobody else.
func TestEmbeddedServerRereadsItsKeys(t *testing.T) {
	long(t)
	data := t.TempDir()
	c := &cluster{t: t, keys: filepath.Join(data, "keys")}
	c.run("init", "--keys", c.keys)
	count := start(t, "coordinator", "count", "10", "--data", data, "--workers", "0", "--listen", "127.0.0.1:0", "--token-file", c.file("worker/join.token"))
	c.url = count.Await(`join with: worker --nats (tls://[^ ]*) --token-file -`)
	run := count.Await(counting)
	release := brake(t, joinAs(t, c.url, bus.Credentials{Identity: c.identity("coordinator"), TLS: c.tls()}), run)

	// A worker makes its key; only the public one travels.
	key := filepath.Join(t.TempDir(), "lab.nkey")
	public := clitest.Run(t, nil, "worker", "key", "--identity", key)
	if public.Code != 0 {
		t.Fatalf("worker key: exit %d: %s", public.Code, public.Stderr)
	}
	lab := []string{"worker", "--nats", c.url, "--tls-ca", c.file("ca.crt"), "--nkey", key, "--threads", "1"}
	if stranger := clitest.Run(t, nil, lab...); stranger.Code != 5 {
		t.Errorf("a worker whose key was not added: exit %d, %s", stranger.Code, stranger.Stderr)
	}
	c.run("add", "worker", "lab", "--public-key", strings.TrimSpace(public.Stdout), "--keys", c.keys)
	count.Await(`(keys have changed)`)
	joined := start(t, "worker", append(c.withToken(), "--threads", "1")...)
	joined.Await(`(worker starts)`)
	added := start(t, lab[0], lab[1:]...)
	added.Await(`(worker starts)`)

	c.run("revoke", "lab", "--keys", c.keys)
	added.ExpectExit(5)
	if joined.HasEnded() || joined.Lines("connection lost") > 0 {
		t.Errorf("the other worker was disconnected: %s", joined.Log())
	}
	old := filepath.Join(t.TempDir(), "old.token")
	if err := os.Link(c.file("worker/join.token"), old); err != nil {
		t.Fatal(err)
	}
	c.run("revoke", "join-token", "--keys", c.keys)
	joined.ExpectExit(5)
	leaked := clitest.Run(t, nil, "worker", "--nats", c.url, "--token-file", old)
	if leaked.Code != 5 || !strings.Contains(leaked.Stderr, "does not know the token") {
		t.Errorf("a worker with the old token: exit %d, %s", leaked.Code, leaked.Stderr)
	}
	// The coordinator's own key has to outlive the run.
	c.run("revoke", "coordinator", "--keys", c.keys)
	count.Await(`(the coordinator's own key was revoked)`)
	start(t, "worker", append(c.withToken(), "--threads", "1")...)
	release()
	count.ExpectTotal(known(10))
}
