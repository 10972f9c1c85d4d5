package page

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"nqueens/pkg/queens"
)

// testRun holds the snapshot that a server shows.
type testRun struct {
	latest atomic.Pointer[queens.Snapshot]
}

func (r *testRun) set(s queens.Snapshot) { r.latest.Store(&s) }

func serve(t *testing.T, linger time.Duration) (*Server, *testRun) {
	t.Helper()
	r := new(testRun)
	s, err := Listen(Config{Address: "127.0.0.1:0", Version: "v1", Snapshot: r.latest.Load,
		History: history, Workers: listed, Linger: linger})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.http.Close() })
	return s, r
}

// listed returns pages of three workers, one on each.
func listed(_ context.Context, number uint64) ([]queens.Worker, uint64, error) {
	if number > 2 {
		return nil, 0, nil
	}
	return running().WorkerList[number : number+1], (number + 1) % 3, nil
}

// The whole list of workers comes in pages.
func TestWorkers(t *testing.T) {
	s, _ := serve(t, 0)
	var all []queens.Worker
	for next := uint64(0); ; {
		_, body, _ := get(t, s, fmt.Sprint("workers.json?after=", next), "")
		var page struct {
			Workers []queens.Worker
			Next    uint64
		}
		if err := json.Unmarshal([]byte(body), &page); err != nil {
			t.Fatalf("%s: %v", body, err)
		}
		all, next = append(all, page.Workers...), page.Next
		if next == 0 {
			break
		}
	}
	if want := running().WorkerList; !reflect.DeepEqual(all, want) {
		t.Errorf("the workers are %v, not %v", all, want)
	}
	if _, body, _ := get(t, s, "workers.json?after=9", ""); body != `{"workers":[]}`+"\n" {
		t.Errorf("after the last page comes %s", body)
	}
	if status, _, _ := get(t, s, "workers.json?after=x", ""); status != http.StatusBadRequest {
		t.Errorf("a page after x has status %d", status)
	}
}

// get asks for a path, with the given Host in the request.
func get(t *testing.T, s *Server, path, host string) (status int, body string, header http.Header) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL()+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Host = host
	reply, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = reply.Body.Close() }()
	all, err := io.ReadAll(reply.Body)
	if err != nil {
		t.Fatal(err)
	}
	return reply.StatusCode, string(all), reply.Header
}

// The server answers all paths with a strict policy, before the first snapshot and after it.
func TestPaths(t *testing.T) {
	s, run := serve(t, 0)
	expect := func(when, path string, status int, text string) {
		t.Helper()
		got, body, header := get(t, s, path, "")
		if got != status || !strings.Contains(body, text) {
			t.Errorf("%s: /%s is %d, want %d with %q:\n%s", when, path, got, status, text, body)
		}
		policy := header.Get("Content-Security-Policy")
		if !strings.HasPrefix(policy, "default-src 'none';") || strings.Contains(policy, "unsafe") {
			t.Errorf("/%s has the policy %q", path, policy)
		}
	}
	expect("before", "", http.StatusOK, "The coordinator plans the run.")
	expect("before", "fragment", http.StatusOK, "The coordinator plans the run.")
	expect("before", "snapshot.json", http.StatusServiceUnavailable, "not planned yet")
	expect("before", "metrics", http.StatusOK, "nqueens_build_info{")
	expect("before", "healthz", http.StatusOK, "ok")
	snapshot := running()
	snapshot.At = time.Now()
	run.set(snapshot)
	expect("while it counts", "", http.StatusOK, "42.6%")
	expect("while it counts", "fragment", http.StatusOK, "42.6%")
	expect("while it counts", "metrics", http.StatusOK, "nqueens_remaining_thread_seconds 33000")
	expect("while it counts", "healthz", http.StatusOK, "ok")
	expect("while it counts", "style.css", http.StatusOK, "--ink")
	expect("while it counts", "script.js", http.StatusOK, "fetch(")
	expect("while it counts", "page.html", http.StatusNotFound, "")
	if err := Probe(t.Context(), s.listener.Addr().String()); err != nil {
		t.Error(err)
	}
	_, body, _ := get(t, s, "snapshot.json", "")
	var read queens.Snapshot
	if err := json.Unmarshal([]byte(body), &read); err != nil || read.Validate() != nil ||
		read.Run != "n20-aa" || read.Done != 104 {
		t.Errorf("snapshot.json is %s (%v)", body, err)
	}
	snapshot.At = time.Now().Add(-stuckAfter - time.Second)
	run.set(snapshot)
	expect("when it is stuck", "healthz", http.StatusServiceUnavailable, "no snapshot since")
	if err := Probe(t.Context(), s.listener.Addr().String()); err == nil ||
		!strings.Contains(err.Error(), "no snapshot since") {
		t.Errorf("the health of a stuck coordinator is %v", err)
	}
	run.set(complete())
	expect("at the end", "healthz", http.StatusOK, "ok")
	expect("at the end", "fragment", http.StatusOK, "data-ended")
}

// The health of a process is asked at the address with which the process was started.
func TestProbe(t *testing.T) {
	for address, want := range map[string]string{
		":8080": "127.0.0.1:8080", "0.0.0.0:8080": "127.0.0.1:8080", "[::]:8080": "[::1]:8080",
		"[::ffff:0.0.0.0]:8080": "127.0.0.1:8080", "host.example:1": "host.example:1", "here": "here",
	} {
		if got := reachable(address); got != want {
			t.Errorf("a process that listens at %s is asked at %s, want %s", address, got, want)
		}
	}
	s, _ := serve(t, 0)
	_, port, _ := net.SplitHostPort(s.listener.Addr().String())
	if err := Probe(t.Context(), ":"+port); err != nil {
		t.Error(err)
	}
}

// On an address that only this machine can reach, requests are answered only if their Host is this
// machine.
func TestHosts(t *testing.T) {
	s, _ := serve(t, 0)
	for host, want := range map[string]int{
		"localhost:80": http.StatusOK, "LOCALHOST": http.StatusOK, "127.0.0.1:8080": http.StatusOK,
		"[::1]:1":      http.StatusOK,
		"evil.example": http.StatusForbidden, "127.0.0.1.evil.example:80": http.StatusForbidden,
		"192.0.2.1": http.StatusForbidden,
	} {
		for _, path := range []string{"", "snapshot.json", "metrics", "healthz"} {
			if got, _, _ := get(t, s, path, host); got != want &&
				!(want == http.StatusOK && got == http.StatusServiceUnavailable) {
				t.Errorf("/%s as %s is %d, want %d", path, host, got, want)
			}
		}
	}
}

// The error for an address in use says what to do.
func TestAddressInUse(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	if _, err := Listen(Config{Address: listener.Addr().String()}); err == nil ||
		!strings.Contains(err.Error(), "choose another port") {
		t.Errorf("the error is %v", err)
	}
}

// A closing page waits until a browser that has asked lately has the last snapshot, but for at most
// 3 s.
func TestLastSnapshotWaits(t *testing.T) {
	for after, seen := range map[time.Duration]bool{time.Second: true, lastSnapshot: false} {
		synctest.Test(t, func(t *testing.T) {
			s := &Server{http: new(http.Server), ended: make(chan error, 1),
				browsers: browsers{asked: map[string]time.Time{}}}
			s.ended <- http.ErrServerClosed
			begun := time.Now()
			s.browsers.saw("a", begun, false)
			time.AfterFunc(time.Second, func() { s.browsers.saw("a", time.Now(), seen) })
			if err := s.Close(t.Context()); err != nil {
				t.Error(err)
			}
			if took := time.Since(begun); took < after || took > after+100*time.Millisecond {
				t.Errorf("a browser has seen the end: %v; the page closed after %v", seen, took)
			}
		})
	}
}

// A browser is remembered until it has seen the end of the run.
func TestFragmentsAreSeen(t *testing.T) {
	s, run := serve(t, 0)
	for _, snapshot := range []queens.Snapshot{running(), complete()} {
		run.set(snapshot)
		get(t, s, "fragment", "")
		if waits := s.browsers.waiting(time.Time{}); waits != (snapshot.State == queens.Running) {
			t.Errorf("%s: a browser waits for the end: %v", snapshot.State, waits)
		}
	}
}

// Without a browser a page closes at once. With a time to linger it closes when the context ends.
func TestLinger(t *testing.T) {
	s, run := serve(t, 0)
	run.set(complete())
	get(t, s, "fragment", "")
	if err := s.Close(t.Context()); err != nil {
		t.Error(err)
	}
	s, _ = serve(t, time.Hour)
	ctx, cancel := context.WithCancel(t.Context())
	closed := make(chan error, 1)
	go func() { closed <- s.Close(ctx) }()
	if got, _, _ := get(t, s, "healthz", ""); got != http.StatusOK {
		t.Errorf("a page that lingers is %d", got)
	}
	cancel()
	if err := <-closed; err != nil {
		t.Error(err)
	}
}

// A browser is remembered for 3 s after its last request. The number of remembered browsers is
// limited.
func TestBrowsers(t *testing.T) {
	b := browsers{asked: map[string]time.Time{}}
	now := time.Now()
	expect := func(when string, want bool) {
		t.Helper()
		if got := b.waiting(now); got != want {
			t.Errorf("%s: waiting %v, want %v", when, got, want)
		}
	}
	expect("nobody", false)
	b.saw("a", now, false)
	b.saw("b", now, false)
	expect("two", true)
	b.saw("a", now, true)
	expect("one has seen the end", true)
	now = now.Add(lately)
	expect("3 s later", true)
	now = now.Add(1)
	expect("then", false)
	for i := range 10 * maxBrowsers {
		b.saw(string(rune(i)), now, false)
	}
	if len(b.asked) > maxBrowsers {
		t.Errorf("%d browsers are remembered", len(b.asked))
	}
}
