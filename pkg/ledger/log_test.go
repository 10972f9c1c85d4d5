package ledger

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"nqueens/pkg/queens"
)

// memory is a file in memory. Its writes and syncs can fail.
type memory struct {
	written []byte
	writes  int // writes that succeed before the failure
	largest int // bytes of the largest write
	starts  []int64
	syncs   int
	failsAt string
	err     error
}

func (m *memory) WriteAt(b []byte, offset int64) (int, error) {
	m.writes--
	m.largest, m.starts = max(m.largest, len(b)), append(m.starts, offset)
	if m.failsAt == "write" && m.writes < 0 {
		b = b[:len(b)/2]
	}
	m.written = append(m.written[:offset], b...)
	if m.failsAt == "write" && m.writes < 0 {
		return len(b), m.err
	}
	return len(b), nil
}

func (m *memory) Sync() error {
	m.syncs++
	if m.failsAt == "sync" && m.writes < 0 {
		return m.err
	}
	return nil
}

func (m *memory) Truncate(size int64) error {
	m.written = m.written[:size]
	return nil
}

func (m *memory) Close() error { return nil }

func (m *memory) Stat() (fs.FileInfo, error) { return nil, nil }

func newLog(t *testing.T, m *memory) *Log {
	t.Helper()
	lock, err := Lock(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	l := &Log{path: File, file: m, lock: lock}
	l.number = 1
	l.size.Store(int64(len(m.written)))
	return l
}

// After a failed write or sync the file has what was on disk before, and nothing more is written.
func TestFailedDisk(t *testing.T) {
	for _, failsAt := range []string{"write", "sync"} {
		t.Run(failsAt, func(t *testing.T) {
			header, _ := encode(t, newHeader(t, 1))
			m := &memory{written: header, writes: 2, failsAt: failsAt, err: errors.New("no space left")}
			l := newLog(t, m)
			want, _ := encode(t, newHeader(t, 1), result("a", 0, 1), result("a", 1, 2))
			for i := range uint64(2) {
				if err := l.Write(result("a", i, i+1)); err != nil {
					t.Fatal(err)
				}
			}
			for i := range uint64(3) {
				if err := l.Write(result("a", 2+i, 3)); !errors.Is(err, ErrFailed) || !errors.Is(err, m.err) {
					t.Fatal(err)
				}
				m.failsAt = "" // a later sync would succeed
			}
			if err := l.Close(); !errors.Is(err, m.err) || !errors.Is(err, ErrFailed) {
				t.Error(err)
			}
			if !bytes.Equal(m.written, want) {
				t.Errorf("the file has %d bytes, not the %d that were on disk", len(m.written), len(want))
			}
		})
	}
}

// Each write is synced once, and a write without records not at all. Before the first write, all
// that was read is synced.
func TestSyncs(t *testing.T) {
	header, _ := encode(t, newHeader(t, 1))
	m := &memory{written: append(header, 1, 2, 3)}
	l := newLog(t, m)
	if err := l.begin(&Notes{Size: int64(len(header)), Write: 1, Torn: 3}); err != nil ||
		m.syncs != 1 || len(m.written) != len(header) {
		t.Fatal(err, m.syncs, len(m.written))
	}
	for i, records := range [][]Record{{result("a", 0, 1), result("a", 1, 1)}, {}, {result("a", 2, 1)},
		nil} {
		if err := l.Write(records...); err != nil || m.syncs != 2+i/2 {
			t.Errorf("after write %d: %d syncs, %v", i, m.syncs, err)
		}
	}
	if _, notes, err := foldBytes(m.written); err != nil || notes.Write != 3 {
		t.Errorf("%+v %v", notes, err)
	}
}

// The file of a log on disk asks the system to sync: it fails where the system can sync nothing.
func TestDiskFile(t *testing.T) {
	from, to, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = from.Close(), to.Close() }()
	if err := (diskFile{to}).Sync(); err == nil {
		t.Error("a pipe is synced")
	}
}

// An invalid record makes the log fail, and no record of its write is written.
func TestInvalidRecord(t *testing.T) {
	header, _ := encode(t, newHeader(t, 1))
	m := &memory{written: bytes.Clone(header)}
	l := newLog(t, m)
	if err := l.Write(result("a", 1, 2), &Mark{}); !errors.Is(err, ErrFailed) {
		t.Error(err)
	}
	if l.Close() == nil || !bytes.Equal(m.written, header) {
		t.Error("something was written")
	}
}

// Records are written in their order, in writes of at most maxWrite bytes. Each write has a number
// and a sync of its own, even if one call makes several.
func TestWriteKeepsOrder(t *testing.T) {
	header, _ := encode(t, newHeader(t, 1))
	m := &memory{written: header}
	l := newLog(t, m)
	const results = 60_000
	var records []Record
	for i := range uint64(results) {
		records = append(records, result("a/"+strings.Repeat("k", 100), 0, i))
	}
	if err := errors.Join(l.Write(records...), l.Close()); err != nil {
		t.Fatal(err)
	}
	next := uint64(0)
	notes, err := scan(section(m.written, len(m.written)), "log", func(r Record) bool {
		if r, ok := r.(*Result); ok {
			if r.Counts[0] != next {
				t.Fatalf("result %d is at %d", r.Counts[0], next)
			}
			next++
		}
		return true
	})
	if err != nil || next != results || m.largest > maxWrite || m.largest < maxWrite/2 {
		t.Error(next, m.largest, err)
	}
	if m.syncs < 2 || m.syncs != len(m.starts) || int(notes.Write) != 1+m.syncs {
		t.Errorf("%d syncs, and the last write has the number %d", m.syncs, notes.Write)
	}
	for i, start := range m.starts {
		if l, ok := parseLabel(m.written[start:], head); !ok || int(l.write) != 2+i {
			t.Errorf("write %d begins with a frame of write %d", 2+i, l.write)
		}
	}
}

// newRun returns the path of the log of a new run, and the log.
func newRun(t *testing.T) (string, *Log) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "n7-a", File)
	l, err := Create(path, *newHeader(t, 1))
	if err != nil {
		t.Fatal(err)
	}
	return path, l
}

// A log can be read while it is written, and afterwards. A second log of the run is refused.
func TestCreateWriteRead(t *testing.T) {
	path, l := newRun(t)
	for _, r := range smallRun(t)[1:] {
		if err := l.Write(r); err != nil {
			t.Fatal(err)
		}
	}
	beside, notes, err := Load(path)
	if err != nil || notes.Torn != 0 || total(beside) == "none" {
		t.Fatal(notes, err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Create(path, *newHeader(t, 1)); !errors.Is(err, fs.ErrExist) {
		t.Error(err)
	}
	l, s, _, err := Open(path)
	if err != nil || describe(s) != describe(beside) {
		t.Fatal(err)
	}
	last, err := ReadLast(path)
	if err != nil || last.State != queens.Complete || last.Mark.Total.String() != total(s) ||
		last.Header.Run != "n7-a" {
		t.Errorf("%+v %v", last, err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

// Opening a log for writing cuts off a torn write, and new records follow the last whole record.
func TestOpenCutsTornGroup(t *testing.T) {
	path, l := newRun(t)
	if err := l.Write(result("a", 0, 1)); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	torn, _ := encode(t, result("a", 1, make([]uint64, 500)...)) // more than is written below
	file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = file.Write(torn[:len(torn)-1])
	}
	if err = errors.Join(err, file.Close()); err != nil {
		t.Fatal(err)
	}
	if last, err := ReadLast(path); err != nil || last.Mark != nil || last.State != queens.Running {
		t.Error(last, err)
	}
	l, _, notes, err := Open(path)
	if err != nil || notes.Torn != int64(len(torn)-1) {
		t.Fatal(notes, err)
	}
	if err := l.Write(result("a", 2, 3), mark(queens.Running)); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	s, notes, err := Load(path)
	if err != nil || notes.Torn != 0 || !s.Task(0).Done || s.Task(1).Done || !s.Task(2).Done {
		t.Error(notes, err)
	}
}

// A second writer is refused, and the error names the first.
func TestLock(t *testing.T) {
	path, l := newRun(t)
	l.Publish("tls://10.0.0.1:4222", []string{"--http", ":8080"})
	_, _, _, err := Open(path)
	host, _ := os.Hostname()
	want := Holder{os.Getpid(), host, "tls://10.0.0.1:4222", []string{"--http", ":8080"}}
	var locked *LockedError
	if !errors.As(err, &locked) || !reflect.DeepEqual(locked.Holder, want) ||
		!strings.Contains(err.Error(), fmt.Sprint(os.Getpid())) {
		t.Fatal(err)
	}
	if err := Held(filepath.Dir(path)); !errors.As(err, &locked) ||
		!reflect.DeepEqual(locked.Holder, want) {
		t.Error(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := Held(filepath.Dir(path)); err != nil {
		t.Error(err)
	}
	l, _, _, err = Open(path)
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
}

// A run's folder that came from elsewhere can't make the program overwrite other files: a link in
// place of the lock or the log is refused.
func TestLinks(t *testing.T) {
	for _, name := range []string{lockFile, File} {
		path, l := newRun(t)
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		link, precious := filepath.Join(filepath.Dir(path), name), filepath.Join(t.TempDir(), "precious")
		before, err := os.ReadFile(path)
		if err == nil {
			err = errors.Join(os.WriteFile(precious, before, 0o600), os.Remove(link),
				os.Symlink(precious, link))
		}
		if err != nil {
			t.Skip(err)
		}
		l, _, _, err = Open(path)
		if err == nil {
			_ = l.Close()
			t.Errorf("a log is opened whose %s is a link", name)
		}
		if after, err := os.ReadFile(precious); err != nil || !bytes.Equal(before, after) {
			t.Errorf("the file to which %s leads has changed: %v", name, err)
		}
	}
}

// A log is not intact if its file or folder is deleted or replaced, if the file is cut, or if the
// lock is deleted.
func TestIntact(t *testing.T) {
	for about, do := range map[string]func(path string) error{
		"deleted file":   os.Remove,
		"deleted folder": func(path string) error { return os.RemoveAll(filepath.Dir(path)) },
		"moved folder": func(path string) error {
			return os.Rename(filepath.Dir(path), filepath.Dir(path)+"-old")
		},
		"cut": func(path string) error { return os.Truncate(path, 5) },
		"deleted lock": func(path string) error {
			return os.Remove(filepath.Join(filepath.Dir(path), lockFile))
		},
		"replaced file": func(path string) error {
			data, err := os.ReadFile(path)
			return errors.Join(err, os.Remove(path), os.WriteFile(path, data, 0o600))
		},
	} {
		t.Run(about, func(t *testing.T) {
			path, l := newRun(t)
			defer func() { _ = l.Close() }()
			if err := l.Write(result("a", 0, 1)); err != nil || l.Intact() != nil {
				t.Fatal(err, l.Intact())
			}
			if err := do(path); err != nil {
				t.Fatal(err)
			}
			if err := l.Intact(); !errors.Is(err, ErrGone) {
				t.Error(err)
			}
		})
	}
}

// A log in a folder with the name of another run is refused.
func TestOtherFolder(t *testing.T) {
	path, l := newRun(t)
	_ = l.Close()
	other := filepath.Join(filepath.Dir(filepath.Dir(path)), "n7-b")
	if err := os.Rename(filepath.Dir(path), other); err != nil {
		t.Fatal(err)
	}
	_, _, err := Load(filepath.Join(other, File))
	_, last := ReadLast(filepath.Join(other, File))
	_, _, _, open := Open(filepath.Join(other, File))
	for _, err := range []error{err, last, open} {
		if err == nil || !strings.Contains(err.Error(), "give the folder that name") {
			t.Error(err)
		}
	}
}
