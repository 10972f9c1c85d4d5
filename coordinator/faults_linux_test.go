//go:build faults

package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"nqueens/pkg/testkit"
)

// The counts that the cases run. They take long enough for each fault to happen meanwhile.
var (
	short = []string{"count", "15", "--symmetry", "none", "--depth", "3"}
	long  = []string{"count", "16", "--symmetry", "none", "--depth", "3"}
	// No total is published for this count, so only second counts of its tasks can show that it is
	// wrong.
	secret = []string{"count", "17", "--place", "3,2", "--depth", "3"}
)

const (
	shortTotal, longTotal = "2279184", "14772512"
)

// The stage "faults" of .ci/run runs this table. Each case makes a fault happen to real processes.
// After that, the total is exact, or an error says why there is none. The cases wait for the
// progress of the count and for lines of the log.
func TestFaults(t *testing.T) {
	programs := buildPrograms(t)
	cases := []struct {
		name string
		play func(*lab)
	}{
		{"coordinator killed fifty times", coordinatorKilled},
		{"workers killed", workersKilled},
		{"server replaced by an empty one", serverReplaced},
		{"two of three servers replaced", clusterReplaced},
		{"coordinator paused", coordinatorPaused},
		{"worker paused", workerPaused},
		{"interrupted and resumed", interrupted},
		{"searches are adopted", adopted},
		{"searches are adopted by coordinator and server", adoptedByServer},
		{"two coordinators", twoCoordinators},
		{"folder deleted", folderDeleted},
		{"disk full", diskFull},
		{"a worker lies beside two", liarBesideTwo},
		{"a worker lies and is checked", liarChecked},
		{"two runs share workers", twoRuns},
		{"idle worker exits", idleExit},
		{"join beyond loopback", joinBeyondLoopback},
	}
	t.Run("cases", func(t *testing.T) {
		for _, c := range cases {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				c.play(newLab(t, programs))
			})
		}
	})
}

func with(args []string, more ...string) []string {
	return append(args[:len(args):len(args)], more...)
}

func coordinatorKilled(l *lab) {
	count := with(long, "--kernel", "generic", "--workers", "2")
	for range 50 {
		p := l.start("coordinator", count...)
		l.progress(p, 1)
		p.kill()
	}
	l.start("coordinator", count...).prints(longTotal)
}

func workersKilled(l *lab) {
	p := l.start("coordinator", with(long, "--workers", "0", "--listen", "127.0.0.1:0")...)
	p.says("workers join")
	one := l.worker("one")
	for range 10 {
		two := l.worker("two")
		l.progress(p, 20)
		two.kill()
		one, two = l.worker("one"), one
		l.progress(p, 20)
		two.kill()
	}
	one.signal(syscall.SIGTERM)
	one.exits(0)
	l.worker("three")
	p.prints(longTotal)
}

func serverReplaced(l *lab) {
	address, flags := l.nats()
	server := l.server(address)
	p := l.start("coordinator", with(long, flags...)...)
	l.worker("one", flags...)
	for range 3 {
		l.progress(p, 20)
		server.kill()
		server = l.server(address)
	}
	p.prints(longTotal)
}

func clusterReplaced(l *lab) {
	var addresses, urls, routes []string
	for range 3 {
		address := testkit.Address(l)
		addresses, urls, routes = append(addresses, address), append(urls, "nats://"+address),
			append(routes, "nats://"+testkit.Address(l))
	}
	start := func(i int) *process {
		return l.server(addresses[i], "-cluster_name", "c", "-cluster", routes[i], "-routes",
			strings.Join(routes, ","))
	}
	servers := []*process{start(0), start(1), start(2)}
	flags := []string{"--nats", strings.Join(urls, ",")}
	p := l.start("coordinator", with(long, flags...)...)
	for _, machine := range []string{"one", "two", "three"} {
		l.worker(machine, flags...)
	}
	for i := range 4 {
		l.progress(p, 50)
		servers[i%3].kill()
		l.progress(p, 50)
		servers[i%3] = start(i % 3)
	}
	p.prints(longTotal)
}

// metric returns a number from the page of a worker, or -1 if the page does not answer yet.
func (l *lab) metric(page, name string) int {
	response, err := http.Get("http://" + page + "/metrics")
	if err != nil {
		return -1
	}
	text, _ := io.ReadAll(response.Body)
	_ = response.Body.Close()
	found := regexp.MustCompile(`(?m)^` + name + `(?:{.*})? (\d+)$`).FindSubmatch(text)
	if found == nil {
		l.Fatalf("no %s in %s", name, text)
	}
	value, err := strconv.Atoi(string(found[1]))
	if err != nil {
		l.Fatal(err)
	}
	return value
}

// While the coordinator is paused, a worker counts what it holds, and delivers the counts when the
// coordinator continues.
func coordinatorPaused(l *lab) {
	address, flags := l.nats()
	l.server(address)
	page := testkit.Address(l)
	p := l.start("coordinator", with(short, flags...)...)
	worker := l.worker("one", with(flags, "--http", page)...)
	l.progress(p, 20)
	p.signal(syscall.SIGSTOP)
	l.await("idle worker", func() bool { return l.metric(page, "nqueens_worker_busy_threads") == 0 })
	p.signal(syscall.SIGCONT)
	p.prints(shortTotal)
	worker.signal(syscall.SIGTERM)
	worker.exits(0)
	if got, done := countedBy(l, worker), l.run().NumberDone(); got != done ||
		strings.Contains(p.log(), "silent") {
		l.Errorf("the worker counted %d of %d tasks", got, done)
	}
}

// countedBy returns how many tasks a worker has counted. The worker logs this number when it
// leaves.
func countedBy(l *lab, worker *process) uint64 {
	found := regexp.MustCompile(`"tasks":(\d+),.*"leaving"`).FindStringSubmatch(worker.log())
	if found == nil {
		l.Fatalf("the worker does not say that it leaves: %s", worker.log())
	}
	tasks, err := strconv.ParseUint(found[1], 10, 64)
	if err != nil {
		l.Fatal(err)
	}
	return tasks
}

func workerPaused(l *lab) {
	p := l.start("coordinator", with(long, "--workers", "0", "--listen", "127.0.0.1:0")...)
	p.says("workers join")
	one := l.worker("one")
	l.progress(p, 20)
	one.signal(syscall.SIGSTOP)
	p.says("silent")
	l.worker("two")
	l.progress(p, 1)
	one.signal(syscall.SIGCONT)
	p.prints(longTotal)
}

func interrupted(l *lab) {
	p := l.start("coordinator", with(long, "--kernel", "generic")...)
	signals := []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP}
	if signal.Ignored(syscall.SIGHUP) { // as under nohup: the programs then ignore it too
		l.Log("SIGHUP is ignored here, and is not tested")
		signals = signals[:2]
	}
	for _, s := range signals {
		l.progress(p, 1)
		p.signal(s)
		if out := p.exits(128 + int(s)); out != "" {
			l.Errorf("after %v it prints %q", s, out)
		}
		p = l.start("coordinator", "resume", "--kernel", "generic")
	}
	p.prints(longTotal)
}

// No search is lost when the coordinator, with or without the server, is killed and the run is
// resumed: the worker counts each task once.
func adopted(l *lab) {
	address, flags := l.nats()
	l.server(address)
	l.adopts(flags, flags)
}

func adoptedByServer(l *lab) {
	l.adopts([]string{"--workers", "0", "--listen", testkit.Address(l)}, nil)
}

func (l *lab) adopts(flags, ofWorker []string) {
	p := l.start("coordinator", with(flags, "count", "16", "--symmetry", "none", "--depth", "1")...)
	p.says(`"counting"`)
	worker := l.worker("one", ofWorker...)
	for range 2 {
		l.progress(p, 1)
		p.kill()
		p = l.start("coordinator", with(flags, "resume")...)
	}
	p.prints(longTotal)
	worker.signal(syscall.SIGTERM)
	worker.exits(0)
	if got := countedBy(l, worker); got != 16 {
		l.Errorf("the worker counted %d tasks, want 16", got)
	}
}

// A second coordinator of a run refuses to count, in the same folder or in a copy. If the first is
// paused, the second counts. When the first continues, the one with fewer results ends. That can be
// either, because both get all messages.
func twoCoordinators(l *lab) {
	address, flags := l.nats()
	l.server(address)
	first := l.start("coordinator", with(long, flags...)...)
	l.worker("one", flags...)
	l.progress(first, 20)
	name := l.run().Header().Run
	l.start("coordinator", with(flags, "resume", name)...).exits(1)
	elsewhere := filepath.Join(l.dir, "elsewhere")
	if err := os.CopyFS(filepath.Join(elsewhere, name), os.DirFS(filepath.Join(l.data, name))); err !=
		nil {
		l.Fatal(err)
	}
	resume := with(flags, "resume", name, "--data", elsewhere)
	second := l.start("coordinator", resume...)
	second.exits(4)
	second.says("another coordinator has it")
	first.signal(syscall.SIGSTOP)
	l.worker("two", flags...)
	results := l.run().Results()
	l.data = elsewhere
	second = l.start("coordinator", resume...)
	l.await("lead of the second coordinator", func() bool { return l.run().Results() > results+1 })
	first.signal(syscall.SIGCONT)
	l.await("end of one coordinator", func() bool { return first.gone() || second.gone() })
	if first.gone() {
		first, second = second, first
	}
	second.exits(4)
	second.says("another coordinator has it")
	first.prints(longTotal)
}

func folderDeleted(l *lab) {
	p := l.start("coordinator", with(long, "--kernel", "generic")...)
	l.progress(p, 1)
	name := l.run().Header().Run
	if err := os.RemoveAll(filepath.Join(l.data, name)); err != nil {
		l.Fatal(err)
	}
	p.exits(4)
	for _, text := range []string{"nothing lost", "to resume", "recorded in"} {
		if strings.Contains(p.log(), text) {
			l.Errorf("the log says %q", text)
		}
	}
	p.says("the ledger was deleted")
}

func diskFull(l *lab) {
	disk := l.data
	if err := os.Mkdir(disk, 0o700); err != nil {
		l.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=16k"); errors.Is(err, fs.ErrPermission) {
		l.Skipf("NOT TESTED, because only root may mount: %v", err)
	} else if err != nil {
		l.Fatal(err)
	}
	l.Cleanup(func() { _ = syscall.Unmount(disk, syscall.MNT_DETACH) })
	count := with(short, "--kernel", "generic", "--depth", "4")
	p := l.start("coordinator", count...)
	p.exits(4)
	p.says("free space or inodes")
	p.says(`"state":"interrupted"`)
	if list := l.start("coordinator", "runs", "--json").exits(0); !strings.Contains(list,
		`"state":"interrupted"`) {
		l.Errorf("the log says interrupted, and the list of runs says\n%s", list)
	}
	before := l.run().NumberDone()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", syscall.MS_REMOUNT, "size=16m"); err != nil {
		l.Fatal(err)
	}
	l.start("coordinator", count...).prints(shortTotal)
	if before == 0 {
		l.Error("nothing was done before the disk was full")
	}
}

// liars runs a count with one worker that lies and some honest ones.
func (l *lab) liars(honest int, flags ...string) {
	total := strings.TrimSpace(
		l.start("coordinator", with(secret, "--data", filepath.Join(l.dir, "alone"))...).exits(0))
	address, server := l.nats()
	l.server(address)
	liar := l.start("liar",
		with(server, "--machine", "liar", "--threads", "1", "--kernel", "generic")...)
	for i := range honest {
		l.worker(fmt.Sprint("honest-", i), server...)
	}
	l.start("coordinator", with(with(secret, server...), flags...)...).prints(total)
	liar.says("is banned")
	if !slices.Equal(l.banned(), []string{"liar"}) {
		l.Errorf("the banned machines are %v", l.banned())
	}
}

func (l *lab) banned() (machines []string) {
	for _, b := range l.run().Bans() {
		machines = append(machines, b.Machine.String())
	}
	return machines
}

func liarBesideTwo(l *lab) { l.liars(2, "--redundancy", "2") }

func liarChecked(l *lab) { l.liars(1, "--spot-check", "20%") }

func twoRuns(l *lab) {
	address, flags := l.nats()
	l.server(address)
	first := l.start("coordinator", with(long, flags...)...)
	second := l.start("coordinator",
		with(short, with(flags, "--data", filepath.Join(l.dir, "second"))...)...)
	for _, machine := range []string{"one", "two"} {
		l.worker(machine, flags...)
	}
	second.says("the run ended")
	if state := l.run(); state.Ended() != "" || state.NumberDone() == 0 {
		l.Errorf("when the shorter run ends, the longer one has %d tasks done, state %q",
			state.NumberDone(), state.Ended())
	}
	second.prints(shortTotal)
	first.prints(longTotal)
}

func idleExit(l *lab) {
	p := l.start("coordinator", with(short, "--workers", "0", "--listen", "127.0.0.1:0")...)
	p.says("workers join")
	worker := l.worker("one", "--idle-exit", "5s")
	p.prints(shortTotal)
	worker.exits(0)
}

// If the server listens beyond loopback, a worker joins with the token, over TLS. Without the token
// it can't.
func joinBeyondLoopback(l *lab) {
	p := l.start("coordinator", with(short, "--workers", "0", "--listen", "0.0.0.0:0")...)
	p.says("workers join")
	token := filepath.Join(l.data, "join", "join.token")
	text, err := os.ReadFile(token)
	if err != nil {
		l.Fatal(err)
	}
	address := regexp.MustCompile(`127\.0\.0\.1:\d+`).FindString(string(text))
	if !strings.Contains(string(text), "CERTIFICATE") {
		l.Error("the token has no certificate")
	}
	l.worker("stranger", "--nats", "nats://"+address).exits(5)
	l.worker("one", "--join", token)
	p.prints(shortTotal)
}
