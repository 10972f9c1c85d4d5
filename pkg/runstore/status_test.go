package runstore

import (
	"errors"
	"math/big"
	"net"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"nqueens/pkg/queens"
	"nqueens/pkg/run"
)

// A run on which a process works is as that process says: before the first snapshot by its ledger, then by the
// latest snapshot, without workers.
func TestStatus(t *testing.T) {
	t.Parallel()
	store, l := activeRun(t, t.TempDir())
	accept(t, l)
	control, _ := serve(t, store, l)
	h := l.Header()
	i := store.Inspect(h.Run)
	if i.Locked == nil || i.Status() != "running" || i.N != 12 || i.Done != 1 || i.Tasks != h.Manifest.Tasks || !i.At.IsZero() ||
		!i.Created.Equal(h.Created) || i.Hash == "" || i.Server != "" {
		t.Errorf("before the first snapshot, the run is %+v", i)
	}
	if r, err := store.Resumable(&h.Manifest, func(*Info) bool { return false }); err != nil || r == nil || r.Run != h.Run {
		t.Errorf("the run to resume is %v, %v", r, err)
	}
	control.SetServer("nats://127.0.0.1:4222")
	control.SetSnapshot(&run.Snapshot{
		Run: h.Run, N: 12, Symmetry: queens.Full, State: run.Running, At: time.Now(), Done: 2, Tasks: h.Manifest.Tasks, Rate: 7,
		Solutions: (*run.Decimal)(big.NewInt(8)), Workers: 1, Threads: 1, WorkerList: []run.Worker{{Name: "w", Kernel: "generic", Threads: 1}},
	})
	if i := store.Inspect(h.Run); i.Done != 2 || i.Rate != 7 || i.Workers != 1 || i.WorkerList != nil || i.Server != "nats://127.0.0.1:4222" {
		t.Errorf("after a snapshot, the run is %+v", i)
	}
}

// What no coordinator says, or none of this run, tells nothing but that the run is active: a new count may be the same.
func TestForgedStatus(t *testing.T) {
	t.Parallel()
	store, l := activeRun(t, t.TempDir())
	name := l.Header().Run
	listener, err := net.Listen("unix", filepath.Join(store.Folder(name), "control.sock"))
	if err != nil {
		t.Fatal(err)
	}
	answer := ""
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(answer))
	})}
	go func() { _ = server.Serve(listener) }()
	defer func() { _ = server.Close() }()
	const hash = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	snapshot := func(name string) string {
		return `"run":"` + name + `","n":12,"symmetry":"full","state":"running","done":1,"tasks":5`
	}
	m := l.Header().Manifest
	for text, known := range map[string]bool{
		`{"hash":"` + hash + `",` + snapshot(name) + `}`:                      true,
		`{"hash":"` + hash + `",` + snapshot("n12-other") + `}`:               false,
		`{"hash":"0",` + snapshot(name) + `}`:                                 false,
		`{"hash":"` + hash + `","server":"a\u001b[m",` + snapshot(name) + `}`: false,
		`{"hash":"` + hash + `","more":1,` + snapshot(name) + `}`:             false,
		`{}`: false, ``: false, `[`: false,
	} {
		answer = text
		i := store.Inspect(name)
		if i.Locked == nil || i.Err != nil || i.Run != name || (i.Hash == hash) != known || (i.N == 12) != known {
			t.Errorf("by %q, the run is %+v", text, i)
		}
		if _, err := store.Resumable(&m, func(*Info) bool { return false }); errors.Is(err, ErrNotResumable) == known {
			t.Errorf("by %q, a count is refused with %v", text, err)
		}
	}
}
