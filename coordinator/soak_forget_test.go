//go:build unix

package main_test

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"nqueens/pkg/cli/clitest"
	"nqueens/pkg/testkit"
)

var soakForget = flag.Bool("soak.forget", false, "run TestSoakForget: servers that forget")

// Two runs at a time come to their exact totals although the servers forget: their stores are put back to
// older copies, wiped, or have a bit flipped, and they are paused and killed. After each fault both runs
// continue, or the log says what to type, and it helps. At its end the test prints a table of the faults.
func TestSoakForget(t *testing.T) {
	if !*soakForget {
		t.Skip("without -soak.forget; scripts/soak --forget sets it")
	}
	f := startForget(t)
	for deadline := time.Now().Add(*soakFor); time.Now().Before(deadline); {
		for _, kind := range f.shuffled() {
			if time.Now().After(deadline) {
				break
			}
			f.strike(kind)
		}
	}
	t.Logf("exact runs by the end of %v of faults: %d\n%s", *soakFor, f.exact, f.table())
	healed := time.Now()
	f.worker("--kernel", "auto", "--threads", "2")
	for i := range f.runs {
		for exact := f.exact; f.exact == exact; {
			f.runs[i].coordinator.AwaitEndOr("its end", func() bool { return false })
			f.next(i)
		}
		f.runs[i].coordinator.Kill() // it has started another run
	}
	t.Logf("the last runs ended %v after the faults", time.Since(healed).Round(time.Second/10))
}

// forget is servers that forget, and two runs on them.
type forget struct {
	soakRun // the scene that both have in common
	nodes   []*forgetNode
	runs    []*soakRun
	exact   int // runs that ended with their total
	kinds   []forgetKind
	tallies map[string]*forgetTally
	typed   map[*clitest.Process]int // bytes of a log that were read for commands
}

// forgetNode is a server whose store can be put back to a copy.
type forgetNode struct {
	*clitest.Process
	name, address, store, copied string
	flags                        []string
}

// forgetTally is what faults of a kind have caused.
type forgetTally struct {
	times, commands, restarts, republished int
	stalls                                 []time.Duration
}

const forgetMemory = 4 << 20 // KiB of address space of a server: a flipped bit may have it reserve more

// stuck is how long the runs may stall without a word of what to do: the program itself gives up waiting
// after two minutes.
const stuck = 5 * time.Minute

func startForget(t *testing.T) *forget {
	t.Helper()
	f := &forget{tallies: make(map[string]*forgetTally), typed: make(map[*clitest.Process]int)}
	f.soakRun = newSoakRun(scene{t: t}, testkit.Rand(t))
	var urls, routes []string
	for range *soakServers {
		urls, routes = append(urls, testkit.Address(t)), append(routes, "nats://"+testkit.Address(t))
	}
	for i, address := range urls {
		n := &forgetNode{name: fmt.Sprint("node", i+1), address: address, store: filepath.Join(t.TempDir(), "store"), copied: filepath.Join(t.TempDir(), "copy")}
		if len(urls) > 1 {
			n.flags = []string{"--cluster", routes[i], "--name", n.name, "--cluster_name", "nqueens", "--routes", strings.Join(routes, ",")}
		}
		f.nodes = append(f.nodes, n)
		f.start(n)
	}
	f.connect = []string{"--nats", "nats://" + strings.Join(urls, ",nats://")}
	if len(urls) > 1 {
		f.flags = []string{"--replicas", fmt.Sprint(len(urls))}
	}
	f.kinds = f.allKinds()
	for range soakWorkers {
		f.worker("--threads", "1")
	}
	for i := range 2 {
		r := newSoakRun(f.scene, f.rng)
		r.connect, r.flags = f.connect, f.flags
		f.runs = append(f.runs, &r)
		f.begin(i)
	}
	return f
}

func (f *forget) worker(flags ...string) {
	start(f.t, "worker", append(slices.Clone(f.connect), flags...)...)
}

// begin starts a coordinator on a new run.
func (f *forget) begin(i int) {
	f.t.Helper()
	f.runs[i].count(17-i, "--depth", "3")
}

// start starts a server. If it does not start with what its store has, the store is removed, as an operator
// would do.
func (f *forget) start(n *forgetNode) {
	f.t.Helper()
	host, port, _ := strings.Cut(n.address, ":")
	for range 2 {
		args := append([]string{"-c", fmt.Sprintf(`ulimit -v %d; exec "$0" "$@"`, forgetMemory), clitest.NATSServer(f.t),
			"-js", "-sd", n.store, "-a", host, "-p", port}, n.flags...)
		n.Process = clitest.StartCommand(f.t, "nats-server", exec.Command("sh", args...))
		for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline) && !n.HasEnded(); elapse(f.t, 20*time.Millisecond) {
			if n.Lines("Server is ready") > 0 {
				return
			}
		}
		f.t.Logf("%s does not start with its store, which is removed: %s", n.name, lastLine(n.Log()))
		n.kill()
		f.remove(n.store)
	}
	f.t.Fatalf("%s does not start without a store:\n%s", n.name, n.Log())
}

// kill kills a server that may have ended.
func (n *forgetNode) kill() {
	_ = n.Cmd.Process.Kill()
	<-n.Ended()
}

func (f *forget) remove(folder string) {
	f.t.Helper()
	if err := os.RemoveAll(folder); err != nil {
		f.t.Fatal(err)
	}
}

// copyStores makes a copy of the stores of all servers, each of which pauses meanwhile.
func (f *forget) copyStores() {
	f.t.Helper()
	for _, n := range f.nodes {
		_ = n.Cmd.Process.Signal(syscall.SIGSTOP)
	}
	for _, n := range f.nodes {
		f.remove(n.copied)
		if err := os.CopyFS(n.copied, os.DirFS(n.store)); err != nil {
			f.t.Fatal(err)
		}
	}
	for _, n := range f.nodes {
		_ = n.Cmd.Process.Signal(syscall.SIGCONT)
	}
}

// shuffled returns the kinds in a random order.
func (f *forget) shuffled() []forgetKind {
	kinds := slices.Clone(f.kinds)
	f.rng.Shuffle(len(kinds), func(i, j int) { kinds[i], kinds[j] = kinds[j], kinds[i] })
	return kinds
}

// strike makes copies, causes a fault 5 to 15 s later, and waits until both runs continue.
func (f *forget) strike(kind forgetKind) {
	f.t.Helper()
	f.copyStores()
	elapse(f.t, time.Duration(5000+f.rng.IntN(10_000))*time.Millisecond)
	for i := range f.runs {
		f.next(i)
	}
	tally := f.tallies[kind.name]
	if tally == nil {
		tally = new(forgetTally)
		f.tallies[kind.name] = tally
	}
	before := make([]forgetProgress, len(f.runs))
	for i, r := range f.runs {
		before[i] = f.progress(r)
	}
	began := time.Now()
	if !kind.do() {
		f.t.Logf("no file for: %s", kind.name)
		return
	}
	tally.times++
	back := make([]forgetProgress, len(f.runs))
	for i, r := range f.runs {
		back[i] = f.progress(r)
	}
	waiting := map[int]bool{0: true, 1: true}
	for since := time.Now(); len(waiting) > 0; elapse(f.t, 200*time.Millisecond) {
		for i, r := range f.runs {
			if f.typeCommands(r.coordinator) {
				tally.commands, since = tally.commands+1, time.Now()
			}
			ended := r.coordinator.HasEnded()
			exact := f.exact
			if ended && r.coordinator.ExitCode() != 0 {
				tally.restarts++
			}
			f.next(i)
			now := f.progress(r)
			if f.exact > exact || now.coordinator == back[i].coordinator && now.done > back[i].done || now.coordinator != back[i].coordinator && now.done > before[i].done {
				if waiting[i] && now.coordinator == before[i].coordinator {
					tally.republished += now.republished - before[i].republished
				}
				delete(waiting, i)
			}
		}
		if time.Since(since) > stuck {
			for i := range waiting {
				f.t.Errorf("run %s makes no progress %v after: %s\n%s", f.runs[i].run, stuck, kind.name, lastOf(f.runs[i].coordinator.Log()))
			}
			f.t.FailNow()
		}
	}
	tally.stalls = append(tally.stalls, time.Since(began))
	f.t.Logf("%s: %v", kind.name, time.Since(began).Round(time.Second/10))
}

// lastOf returns the end of a log, without lines of progress.
func lastOf(log string) string {
	lines := slices.DeleteFunc(strings.Split(log, "\n"), func(line string) bool { return strings.Contains(line, `"message":"progress"`) })
	log = strings.Join(lines, "\n")
	return log[max(0, len(log)-8000):]
}

var resetCommand = regexp.MustCompile(`coordinator (reset \w+ --nats \S+ --yes)`)

// typeCommands types the commands that a log names since the last call, as a person would, and reports
// whether there were any.
func (f *forget) typeCommands(p *clitest.Process) (typed bool) {
	log := p.Log()
	for _, m := range resetCommand.FindAllStringSubmatch(log[f.typed[p]:], -1) {
		f.t.Logf("typing: coordinator %s", m[1])
		start(f.t, "coordinator", strings.Fields(m[1])...).AwaitEndOr("its end", func() bool { return false })
		typed = true
	}
	f.typed[p] = len(log)
	return typed
}

// next checks how a coordinator ended, if it has, and starts another: of the same run if that is incomplete,
// else of a new one.
func (f *forget) next(i int) {
	f.t.Helper()
	r := f.runs[i]
	if r.run == "" && r.coordinator.Lines(counting) > 0 {
		r.run = r.coordinator.Await(counting)
	}
	if !r.coordinator.HasEnded() {
		return
	}
	switch code := r.coordinator.ExitCode(); code {
	case 0:
		r.coordinator.ExpectTotal(known(r.n))
		f.exact++
		f.begin(i)
	case 1, 4, 5:
		f.typeCommands(r.coordinator)
		if out := r.coordinator.Stdout(); out != "" {
			f.t.Fatalf("a coordinator that ended with exit code %d printed %q", code, out)
		}
		f.t.Logf("exit code %d: %s", code, lastLine(r.coordinator.Log()))
		r.resume()
	default:
		f.t.Fatalf("a coordinator ended with exit code %d: %s", code, lastOf(r.coordinator.Log()))
	}
}

func lastLine(log string) string {
	lines := strings.Split(strings.TrimSpace(log), "\n")
	return lines[len(lines)-1]
}
