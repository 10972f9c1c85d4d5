package notify

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"nqueens/pkg/run"
)

// receiver is a webhook that keeps the events that it accepts.
type receiver struct {
	*httptest.Server

	mu     sync.Mutex
	answer func(w http.ResponseWriter, r *http.Request) // nil accepts
	events []Event
}

const secret = "s3cret-of-the-webhook"

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := new(receiver)
	r.Server = httptest.NewServer(http.HandlerFunc(r.serve))
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) serve(w http.ResponseWriter, request *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.answer != nil {
		r.answer(w, request)
		return
	}
	var e Event
	if err := json.NewDecoder(request.Body).Decode(&e); err != nil || request.URL.Path != "/"+secret {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	r.events = append(r.events, e)
}

func (r *receiver) set(answer func(w http.ResponseWriter, r *http.Request)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answer = answer
}

func (r *receiver) got() []Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.events)
}

func targetsFile(t *testing.T, lines ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "targets")
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func status(code int) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

var running = run.Snapshot{Run: "n8-a", N: 8, State: run.Running, Done: 3, Tasks: 9}

func ended(t *testing.T) Event {
	t.Helper()
	s := running
	s.State, s.Done = run.Complete, s.Tasks
	s.SetTotal(big.NewInt(92), &run.Confirmation{Published: true})
	e, ok := Ended(&s, time.Now())
	if !ok {
		t.Fatal("a complete run has not ended")
	}
	return e
}

// A stall and a dispute are told once each time, and not before their time.
func TestWatch(t *testing.T) {
	var w Watch
	begin := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	for _, step := range []struct {
		minute         int
		done, disputed uint64
		want           Kind
	}{
		{0, 3, 0, ""}, {29, 3, 0, ""}, {30, 3, 0, Stalled}, {90, 3, 0, ""},
		{99, 3, 0, ""}, {100, 4, 1, ""}, {108, 5, 1, ""}, {109, 5, 1, Dispute}, {125, 6, 2, ""}, {130, 7, 0, ""}, {131, 7, 1, ""}, {141, 8, 1, Dispute}, {171, 8, 0, Stalled},
	} {
		s := running
		s.Done, s.States.Disputed = step.done, step.disputed
		var got Kind
		for _, e := range w.Observe(begin.Add(time.Duration(step.minute)*time.Minute), &s) {
			got += e.Kind
			if e.Run != s.Run || e.Done != step.done || e.Text == "" {
				t.Errorf("minute %d: %+v", step.minute, e)
			}
		}
		if got != step.want {
			t.Errorf("minute %d: %q, want %q", step.minute, got, step.want)
		}
	}
}

// What does not take an event gets it again, in a later process too; what has it does not. No log, error or file has
// a target in it.
func TestDeliveredAtLeastOnce(t *testing.T) {
	var log bytes.Buffer
	folder, good, bad := t.TempDir(), newReceiver(t), newReceiver(t)
	targets := targetsFile(t, "# two", good.URL+"/"+secret, "", bad.URL+"/"+secret)
	o, err := Create(folder, targets, zerolog.New(&log))
	if err != nil {
		t.Fatal(err)
	}
	bad.set(status(http.StatusInternalServerError))
	stalled := newEvent(Stalled, &running, time.Now(), "it stalls")
	for _, e := range []Event{stalled, ended(t), ended(t)} {
		if err := o.Add(e); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if done, err := o.Deliver(t.Context()); done || err == nil || !strings.Contains(err.Error(), "line 4 of "+targets) || !strings.Contains(err.Error(), "500") || strings.Contains(err.Error(), secret) {
			t.Errorf("delivered: %v, error %v", done, err)
		}
	}
	text, err := os.ReadFile(filepath.Join(folder, file))
	if err != nil || bytes.Contains(text, []byte(secret)) {
		t.Errorf("the file has %s, error %v", text, err)
	}
	bad.set(nil)
	if o, err = Open(folder, zerolog.New(&log)); err != nil {
		t.Fatal(err)
	}
	if err := o.Add(ended(t)); err != nil { // whoever finds the run ended adds it
		t.Fatal(err)
	}
	if done, err := o.Deliver(t.Context()); !done || err != nil {
		t.Errorf("delivered: %v, error %v", done, err)
	}
	for name, r := range map[string]*receiver{"good": good, "bad": bad} {
		got := r.got()
		if len(got) != 2 || got[0].ID != stalled.ID || got[1].Kind != Complete || got[1].Total.String() != "92" || got[1].Level != run.Published {
			t.Errorf("%s has %+v", name, got)
		}
	}
	if left, _ := os.ReadDir(folder); len(left) > 0 || strings.Contains(log.String(), secret) {
		t.Errorf("%d files are left; the log is %s", len(left), &log)
	}
}

// Two processes lose nothing of each other, and an event of the end that another has delivered does not come again.
func TestTwoProcesses(t *testing.T) {
	r, folder := newReceiver(t), t.TempDir()
	targets := targetsFile(t, r.URL+"/"+secret)
	a, err := Create(folder, targets, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	b, err := Open(folder, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	stalled, dispute := newEvent(Stalled, &running, time.Now(), "it stalls"), newEvent(Dispute, &running, time.Now(), "it disputes")
	if err := errors.Join(a.Add(stalled), b.Add(dispute), a.Add(ended(t)), b.Add(ended(t))); err != nil {
		t.Fatal(err)
	}
	for _, o := range []*Outbox{b, a} {
		if done, err := o.Deliver(t.Context()); !done || err != nil {
			t.Errorf("delivered: %v, error %v", done, err)
		}
		if err := a.Add(ended(t)); err != nil {
			t.Error(err)
		}
	}
	if left, _ := os.ReadDir(folder); len(left) > 0 {
		t.Errorf("left is %v", left)
	}
	var got []string
	for _, e := range r.got() {
		got = append(got, string(e.Kind))
	}
	if want := "stalled dispute complete"; strings.Join(got, " ") != want {
		t.Errorf("delivered are %s, want %s", got, want)
	}
}

// Run delivers what fails at first, and ends with the event of the end.
func TestRun(t *testing.T) {
	r := newReceiver(t)
	o, err := Create(t.TempDir(), targetsFile(t, r.URL+"/"+secret), zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	failed := make(chan struct{}, 9)
	r.set(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
		failed <- struct{}{}
	})
	var running sync.WaitGroup
	running.Go(func() { o.Run(t.Context()) })
	if err := o.Add(ended(t)); err != nil {
		t.Fatal(err)
	}
	<-failed
	r.set(nil)
	running.Wait()
	if got := r.got(); len(got) != 1 {
		t.Errorf("it has %+v", got)
	}
}

// A webhook that is not there, hangs, redirects or has an unknown certificate fails, and is not named.
func TestWebhooksThatFail(t *testing.T) {
	gone := httptest.NewServer(nil)
	gone.Close()
	untrusted := httptest.NewTLSServer(nil)
	defer untrusted.Close()
	untrusted.Config.ErrorLog = nil
	other, r := newReceiver(t), newReceiver(t)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	hang := make(chan struct{})
	slow := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-hang }))
	defer slow.Close()
	defer close(hang)
	r.set(func(w http.ResponseWriter, q *http.Request) {
		http.Redirect(w, q, other.URL+"/"+secret, http.StatusTemporaryRedirect)
	})
	for address, says := range map[string]string{
		gone.URL: "can't be reached", untrusted.URL: "not trusted", slow.URL: "does not answer in time", r.URL: "status 307",
		"http://does-not-exist.invalid": "",
	} {
		t2 := target{text: address + "/" + secret}
		e := ended(t)
		use := t.Context()
		if address == slow.URL {
			use = ctx
		}
		err := t2.send(use, &e)
		if err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), secret) || strings.Contains(err.Error(), strings.TrimPrefix(address, "http://")) {
			t.Errorf("%s: %v, want %q", address, err, says)
		}
	}
	if len(other.got()) > 0 {
		t.Error("a redirection is followed")
	}
}

// A command gets the event on its standard input, and is not among the arguments of a process. One that fails or
// hangs is an error that does not quote it.
func TestCommands(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the commands are those of a Unix shell")
	}
	dir, e := t.TempDir(), ended(t)
	out, arguments := filepath.Join(dir, "out"), filepath.Join(dir, "arguments")
	command := target{text: "token=" + secret + "; ps -o args= -p $$ >" + arguments + " 2>&1; cat >" + out}
	if err := command.send(t.Context(), &e); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(out)
	var got Event
	if err != nil || json.Unmarshal(text, &got) != nil || got.ID != e.ID {
		t.Errorf("the command has %s, error %v", text, err)
	}
	if text, err := os.ReadFile(arguments); err != nil || bytes.Contains(text, []byte(secret)) {
		t.Errorf("the arguments are %s, error %v", text, err)
	}
	short, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	for _, c := range []struct {
		ctx        context.Context
		text, says string
	}{{t.Context(), "exit 3 # " + secret, "exit status 3"}, {short, "sleep 60 # " + secret, "did not end"}} {
		command := target{text: c.text}
		if err := command.send(c.ctx, &e); err == nil || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: %v", c.text, err)
		}
	}
}

// A file of targets without any is refused, and not quoted.
func TestCheck(t *testing.T) {
	for text, valid := range map[string]bool{
		"": false, "# nothing\n\n": false, "https://\n": false, "https://%zz/" + secret: false,
		"https://example.org/x": true, "mail -s nqueens me": true,
	} {
		err := Check(targetsFile(t, text))
		if (err == nil) != valid || err != nil && strings.Contains(err.Error(), secret) {
			t.Errorf("%q: %v", text, err)
		}
	}
	if err := Check(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("no file is a file of targets")
	}
}
