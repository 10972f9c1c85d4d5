//go:build faults

package main

import (
	"flag"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"nqueens/pkg/testkit"
)

var (
	soakTime = flag.Duration("soak", 0, "how long TestSoak starts counts")
	soakSeed = flag.Uint64("soak-seed", 1, "seed of the faults")
	soakTrip = flag.Duration("soak-round-trip", 0, "time of a round trip to the coordinator")
)

// link is the network of one process. It carries the connections to the server, cuts them, or lets
// nothing through.
type link struct {
	mu    sync.Mutex
	to    string
	down  bool          // new connections are refused
	stuck chan struct{} // if it is not nil, bytes wait until it is closed
	conns []net.Conn
}

// newLink starts a link for a process, and returns the flags with which the process uses it.
func newLink(l *lab, to string) (k *link, flags []string) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		l.Fatal(err)
	}
	k = &link{to: to}
	l.Cleanup(func() { _ = listener.Close(); k.set(true, false) })
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			go k.carry(c)
		}
	}()
	return k, []string{"--nats", "nats://" + listener.Addr().String()}
}

// set cuts the link, makes it let nothing through, or makes it work again.
func (k *link) set(down, stuck bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.stuck != nil {
		close(k.stuck)
		k.stuck = nil
	}
	k.down = down
	if down {
		for _, c := range k.conns {
			_ = c.Close()
		}
		k.conns = nil
	}
	if stuck {
		k.stuck = make(chan struct{})
	}
}

func (k *link) carry(c net.Conn) {
	defer func() { _ = c.Close() }()
	server, err := net.Dial("tcp", k.to)
	if err != nil {
		return
	}
	defer func() { _ = server.Close() }()
	k.mu.Lock()
	down := k.down
	k.conns = append(k.conns, c, server)
	k.mu.Unlock()
	if down {
		return
	}
	go func() { k.copy(server, c); _ = server.Close(); _ = c.Close() }()
	k.copy(c, server)
}

// piece is what was read at once.
type piece struct {
	due   time.Time // to be written
	bytes []byte
}

// copy writes what it reads, after a quarter of a round trip: a message and its reply pass four
// links.
func (k *link) copy(to, from net.Conn) {
	pieces := make(chan piece, 1000)
	go func() {
		defer close(pieces)
		for {
			buffer := make([]byte, 64<<10)
			n, err := from.Read(buffer)
			pieces <- piece{time.Now().Add(*soakTrip / 4), buffer[:n]}
			if err != nil {
				return
			}
		}
	}()
	for p := range pieces {
		time.Sleep(time.Until(p.due))
		k.mu.Lock()
		stuck := k.stuck
		k.mu.Unlock()
		if stuck != nil {
			<-stuck
		}
		if _, err := to.Write(p.bytes); err != nil {
			_ = from.Close() // ends the loop that reads
		}
	}
}

// part is a process of a run in TestSoak, and the way to start the process again.
type part struct {
	*process
	name  string
	start func() *process
	link  *link // nil if the process has none
}

// TestSoak runs counts for a given time. Coordinator, server and workers are killed, paused and cut
// off at random. Each run must end with the exact total. scripts/soak runs this test.
func TestSoak(t *testing.T) {
	if *soakTime == 0 {
		t.Skip("scripts/soak runs it")
	}
	programs := buildPrograms(t)
	random := rand.New(rand.NewPCG(*soakSeed, 0))
	faults := 0
	var ends []time.Duration
	for begun := time.Now(); time.Since(begun) < *soakTime; {
		ok := t.Run("run", func(t *testing.T) {
			n, end := soakRun(newLab(t, programs), random)
			faults, ends = faults+n, append(ends, end)
			t.Logf("%d faults, ended %.1f s after the last", n, end.Seconds())
		})
		if !ok {
			t.Fatalf("seed %d: run %d failed, after %d exact ones and %d faults", *soakSeed, len(ends)+1,
				len(ends), faults)
		}
	}
	slices.Sort(ends)
	t.Logf("seed %d: %d runs exact, %d faults, 0 hangs; a run ended after its last fault in %.1f s "+
		"on the median, %.1f s at most",
		*soakSeed, len(ends), faults, ends[len(ends)/2].Seconds(), ends[len(ends)-1].Seconds())
}

// soakRun runs a count with some faults. It returns their number, and the time from the last fault
// to the end of the run.
func soakRun(l *lab, random *rand.Rand) (faults int, end time.Duration) {
	address := testkit.Address(l)
	count := [][]string{long, with(long, "--symmetry", "mirror"),
		with(long, "--redundancy", "2")}[random.IntN(3)]
	coordinator := &part{name: "coordinator", start: func() *process {
		return l.start("coordinator", count...)
	}}
	parts := []*part{coordinator}
	// the server is a process of its own: links exist only then
	outside := random.IntN(3) > 0 || *soakTrip > 0
	if outside {
		var flags []string
		coordinator.link, flags = newLink(l, address)
		count = with(count, flags...)
		parts = []*part{{name: "server", start: func() *process {
			return l.server(address)
		}}, coordinator}
	} else {
		count = with(count, "--workers", "0", "--listen", address)
	}
	for _, machine := range []string{"one", "two", "three"} {
		var p part
		var flags []string
		if outside {
			p.link, flags = newLink(l, address)
		}
		p.name, p.start = machine, func() *process { return l.worker(machine, flags...) }
		parts = append(parts, &p)
	}
	l.Log(count)
	for _, p := range parts {
		p.process = p.start()
		if p == coordinator && !outside {
			p.says("workers join")
		}
	}
	for range 3 + random.IntN(10) {
		p := parts[random.IntN(len(parts))]
		pause := time.Duration(random.ExpFloat64() * float64(time.Second))
		away := time.Duration(random.ExpFloat64() * float64(4*time.Second))
		if random.IntN(10) == 0 {
			away += 25 * time.Second // longer than a worker may be silent
		}
		kind := random.IntN(4)
		time.Sleep(pause)
		if coordinator.hasEnded() {
			break
		}
		faults++
		p.fault(kind, away)
		end = -time.Since(l.begun)
	}
	l.await("end of the count", coordinator.hasEnded)
	coordinator.prints(longTotal)
	end += time.Since(l.begun)
	if end > time.Minute {
		l.Logf("slow:\n%s", tail(coordinator.err))
	}
	return faults, end
}

// hasEnded reports whether the process has ended. Like a service manager, it restarts a process
// that found no server.
func (p *part) hasEnded() bool {
	if p.gone() && p.ProcessState.ExitCode() == 5 {
		p.process = p.start()
	}
	return p.gone()
}

// fault kills or pauses a process, cuts its link, or lets nothing through the link. After a while
// it ends the fault.
func (p *part) fault(kind int, away time.Duration) {
	say := func(what string) {
		p.lab.Logf("%.1f s: %s %s, for %.1f s", time.Since(p.lab.begun).Seconds(), what, p.name,
			away.Seconds())
		time.Sleep(away)
	}
	switch {
	case kind == 0 || p.link == nil && kind > 1:
		p.kill()
		say("kill -9")
		p.process = p.start()
	case kind == 1:
		_ = p.Process.Signal(syscall.SIGSTOP) // it may end now
		say("SIGSTOP")
		_ = p.Process.Signal(syscall.SIGCONT)
	default:
		p.link.set(kind == 2, kind == 3)
		say([]string{"cut", "let nothing through to"}[kind-2])
		p.link.set(false, false)
	}
}
