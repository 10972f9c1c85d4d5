package runs_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"nqueens/pkg/ledger"
	"nqueens/pkg/queens"
	"nqueens/pkg/runs"
	"nqueens/pkg/split"
	"nqueens/pkg/symmetry"
)

func newStore(t testing.TB) *runs.Store {
	t.Helper()
	s, err := runs.NewStore(filepath.Join(t.TempDir(), "data"))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// header returns the header of a run that was created at the given hour of a fixed day.
func header(t testing.TB, n, hours int) ledger.Header {
	t.Helper()
	classes, err := symmetry.Classes(n, queens.Full)
	if err != nil {
		t.Fatal(err)
	}
	m, _, err := split.Plan(t.Context(), n, queens.Full, classes, 0)
	if err != nil {
		t.Fatal(err)
	}
	return ledger.Header{Manifest: m, Redundancy: 1,
		Created: time.Date(2026, 11, 20, hours, 0, 0, 0, time.UTC)}
}

// newRun creates a run whose ledger has some records, and returns its name.
func newRun(t testing.TB, s *runs.Store, h ledger.Header, records ...ledger.Record) string {
	t.Helper()
	l, state, err := s.Create(h, h.Created)
	if err != nil || state.Header().Secret == (ledger.Secret{}) {
		t.Fatal(err)
	}
	if err := errors.Join(l.Write(records...), l.Close()); err != nil {
		t.Fatal(err)
	}
	return state.Header().Run
}

// complete returns the mark of a complete run.
func complete(t testing.TB, h *ledger.Header, total string) *ledger.Mark {
	t.Helper()
	m := &ledger.Mark{State: queens.Complete, Done: h.Manifest.Tasks, Work: 1, Wall: time.Second,
		Solutions: new(queens.Decimal)}
	if err := m.Solutions.UnmarshalText([]byte(total)); err != nil {
		t.Fatal(err)
	}
	m.Total = m.Solutions
	return m
}

func running(done uint64) *ledger.Mark {
	return &ledger.Mark{State: queens.Running, Done: done, Work: 0.5, Solutions: new(queens.Decimal)}
}

// A list has each run with its state, the newest first.
func TestList(t *testing.T) {
	s := newStore(t)
	if list, err := s.List(); err != nil || len(list) != 0 {
		t.Fatal(list, err)
	}
	h := header(t, 8, 1)
	stopped := running(3)
	stopped.State = queens.Stopped
	names := []string{
		newRun(t, s, header(t, 8, 5), running(2)),
		newRun(t, s, header(t, 8, 4), stopped),
		newRun(t, s, header(t, 8, 3), complete(t, &h, "92")),
		newRun(t, s, header(t, 8, 2), complete(t, &h, "93")),
		newRun(t, s, header(t, 8, 1), running(h.Manifest.Tasks), complete(t, &h, "92"), running(0)),
	}
	l, _, _, err := s.Open(names[0])
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	l.Publish("nats://10.0.0.1:4222", nil)
	for _, name := range []string{"notes", "join", "9-empty"} {
		if err := os.Mkdir(s.Folder(name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	list, err := s.List()
	if err != nil {
		t.Fatal(err)
	}
	var got, states []string
	for i := range list {
		got, states = append(got, list[i].Name), append(states, list[i].Status())
	}
	want := []string{"running", "stopped", "complete", "unreadable", "interrupted"}
	if !slices.Equal(got, names) || !slices.Equal(states, want) {
		t.Fatal(got, states)
	}
	if a := list[0].Active; a == nil || a.Holder.PID != os.Getpid() ||
		a.Holder.Server != "nats://10.0.0.1:4222" {
		t.Errorf("%+v", a)
	}
	if list[0].Mark.Done != 2 || list[2].Total().String() != "92" || list[0].Total() != nil ||
		list[4].Total() != nil {
		t.Error("a total or a number of tasks is wrong")
	}
	if !errors.Is(list[3].Err, queens.ErrContradiction) || list[3].Header != nil {
		t.Errorf("a total that contradicts the published one is believed: %v", list[3].Err)
	}
}

// Each run has a secret of its own, in which every byte is drawn.
func TestSecrets(t *testing.T) {
	s := newStore(t)
	var first, differ ledger.Secret
	for number := range 17 { // a byte is 0 in all differences with a probability of 2^-128
		name := newRun(t, s, header(t, 8, 1))
		state, _, err := s.Load(name)
		if err != nil {
			t.Fatal(err)
		}
		if number == 0 {
			first = state.Header().Secret
		}
		for i, b := range state.Header().Secret {
			differ[i] |= b ^ first[i]
		}
	}
	if i := slices.Index(differ[:], 0); i >= 0 {
		t.Errorf("byte %d of all secrets is the same", i)
	}
}

// A run with a damaged byte in its header or its last mark is listed as unreadable or interrupted,
// unless the byte can be done without.
func TestListBelievesWhatChecks(t *testing.T) {
	s := newStore(t)
	h := header(t, 6, 1)
	name := newRun(t, s, h, complete(t, &h, "4"))
	log, err := os.ReadFile(s.Ledger(name))
	if err != nil {
		t.Fatal(err)
	}
	for i := range log {
		damaged := slices.Clone(log)
		damaged[i] ^= 0x15
		if err := os.WriteFile(s.Ledger(name), damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		r := s.Inspect(name)
		believed := r.State == queens.Complete && r.Total().String() == "4"
		if !believed && r.Status() != runs.Unreadable && r.State != queens.Interrupted {
			t.Fatalf("byte %d: %s %v", i, r.Status(), r.Total())
		}
	}
}

// A run without its ledger is listed as unreadable, and no other run of its count is chosen. A run
// of the format before is unreadable too, but not in the way. Both can be removed.
func TestMissingLedger(t *testing.T) {
	s := newStore(t)
	h := header(t, 8, 1)
	for _, c := range []struct {
		file string // that is there instead
		err  error
		of   error
	}{{"ledger.new", ledger.ErrMissing, runs.ErrUnreadable}, {"ledger.log", ledger.ErrFormat, nil}} {
		name := newRun(t, s, h)
		if err := os.Rename(s.Ledger(name), filepath.Join(s.Folder(name), c.file)); err != nil {
			t.Fatal(err)
		}
		list, err := s.List()
		if err != nil || len(list) != 1 || list[0].Status() != runs.Unreadable ||
			!errors.Is(list[0].Err, c.err) {
			t.Errorf("%s: %+v %v", c.file, list, err)
		}
		if r, err := s.Of(runs.CountOf(&h)); r != nil || !errors.Is(err, c.of) {
			t.Errorf("%s: %+v %v", c.file, r, err)
		}
		if _, _, err := s.Load(name); !errors.Is(err, c.err) {
			t.Errorf("%s: %v", c.file, err)
		}
		if _, err := s.Remove(name, false); err != nil {
			t.Errorf("%s: %v", c.file, err)
		}
	}
}

func TestFind(t *testing.T) {
	s := newStore(t)
	for _, name := range []string{"n8-a", "n8-ab", "n9-a"} {
		if err := errors.Join(os.MkdirAll(s.Folder(name), 0o700),
			os.WriteFile(s.Ledger(name), nil, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	for text, want := range map[string]string{"n9": "n9-a", "n8-a": "n8-a", "n8-ab": "n8-ab", "n8": "",
		"n7": ""} {
		got, err := s.Find(text)
		if got != want || want == "" && !errors.Is(err, runs.ErrAmbiguous) &&
			!errors.Is(err, runs.ErrNoRun) {
			t.Errorf("%s: %q %v", text, got, err)
		}
	}
}

// Of finds the newest unfinished run of a count, or else the newest complete one.
func TestOf(t *testing.T) {
	s := newStore(t)
	h := header(t, 8, 1)
	count := runs.CountOf(&h)
	expect := func(about, name string) {
		t.Helper()
		r, err := s.Of(count)
		if err != nil || (r == nil) != (name == "") || r != nil && r.Name != name {
			t.Errorf("%s: %+v %v", about, r, err)
		}
	}
	expect("no run", "")
	other := header(t, 8, 9)
	other.Redundancy = 2
	newRun(t, s, other)
	other = header(t, 8, 9)
	other.Depth = 3
	newRun(t, s, other)
	newRun(t, s, header(t, 9, 9))
	expect("other counts", "")
	done := newRun(t, s, header(t, 8, 8), complete(t, &h, "92"))
	expect("a complete run", done)
	first := newRun(t, s, header(t, 8, 1), running(1))
	expect("an older unfinished run", first)
	second := newRun(t, s, header(t, 8, 2), running(1))
	expect("two unfinished runs", second)
	if err := os.Truncate(s.Ledger(second), 10); err != nil {
		t.Fatal(err)
	}
	expect("another unfinished one can't be read", first)
	if _, err := s.Remove(first, false); err != nil {
		t.Fatal(err)
	}
	if r, err := s.Of(count); !errors.Is(err, runs.ErrUnreadable) ||
		!strings.Contains(err.Error(), second) {
		t.Error("a run that can't be read is passed over", r, err)
	}
}

// Remove removes the whole folder of a run, and what earlier calls have left. It refuses an active
// run, and names the process that works on it. The path of the store may look like a pattern.
func TestRemove(t *testing.T) {
	s, err := runs.NewStore(filepath.Join(t.TempDir(), "a[b]"))
	if err != nil {
		t.Fatal(err)
	}
	name := newRun(t, s, header(t, 8, 1))
	l, _, _, err := s.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	for _, dryRun := range []bool{true, false} {
		var locked *ledger.LockedError
		if _, err := s.Remove(name, dryRun); !errors.As(err, &locked) ||
			locked.Holder.PID != os.Getpid() {
			t.Error(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(s.Folder(".removed-n8-rest"), 0o700); err != nil {
		t.Fatal(err)
	}
	size, err := s.Remove(name, true)
	if err != nil || size == 0 || s.Inspect(name).Err != nil {
		t.Fatal(size, err)
	}
	if removed, err := s.Remove(name, false); err != nil || removed != size {
		t.Error(removed, err)
	}
	if entries, err := os.ReadDir(s.Path()); err != nil || len(entries) != 0 {
		t.Error(entries, err)
	}
	if _, err := s.Remove(name, false); !errors.Is(err, runs.ErrNoRun) {
		t.Error(err)
	}
	if _, _, err := s.Load(name); !errors.Is(err, runs.ErrNoRun) {
		t.Error(err)
	}
}

// A run in a folder of another user is listed with an error that names the folder. Of and Find do
// not choose another run instead.
func TestPermissionDenied(t *testing.T) {
	s := newStore(t)
	h := header(t, 8, 1)
	name := newRun(t, s, h)
	if err := errors.Join(os.Chmod(s.Path(), 0o755), os.Chmod(s.Folder(name), 0)); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.Chmod(s.Folder(name), 0o700) }() // so that the test can remove it
	asOtherUser(t, filepath.Dir(s.Path()), func() {
		list, err := s.List()
		if err != nil || len(list) != 1 || list[0].Status() != runs.Unreadable ||
			!isDenied(list[0].Err, name) {
			t.Errorf("%+v %v", list, err)
		}
		if found, err := s.Find("n8"); found != name || err != nil {
			t.Error(found, err)
		}
		if r, err := s.Of(runs.CountOf(&h)); r != nil || !isDenied(err, name) {
			t.Error(r, err)
		}
		if _, err := s.Remove(name, false); !isDenied(err, name) {
			t.Error(err)
		}
		if _, _, _, err := s.Open(name); !isDenied(err, name) {
			t.Error(err)
		}
	})
	if err := os.Chmod(s.Path(), 0); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.Chmod(s.Path(), 0o700) }()
	asOtherUser(t, filepath.Dir(s.Path()), func() {
		_, err := s.List()
		_, of := s.Of(runs.CountOf(&h))
		for _, err := range []error{err, of} {
			if !errors.Is(err, runs.ErrFolder) || !isDenied(err, s.Path()) {
				t.Error(err)
			}
		}
	})
}

func isDenied(err error, where string) bool {
	return errors.Is(err, fs.ErrPermission) && strings.Contains(err.Error(), where)
}

// BenchmarkList lists a hundred runs.
func BenchmarkList(b *testing.B) {
	s := newStore(b)
	h := header(b, 20, 1)
	for range 100 {
		newRun(b, s, h, complete(b, &h, "39029188884"))
	}
	for b.Loop() {
		if list, err := s.List(); err != nil || len(list) != 100 || list[0].Total() == nil {
			b.Fatal(err)
		}
	}
}
