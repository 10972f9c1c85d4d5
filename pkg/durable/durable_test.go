package durable

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// contents returns the names of the files in the folder of a file, and the text of the file.
func contents(t *testing.T, path string) (names []string, text string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return names, string(data)
}

// Write replaces a file and WriteNew does not. Neither changes another file or leaves a temporary
// one.
func TestWrite(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "file")
	if err := os.WriteFile(path+".new", []byte("of a person"), 0o600); err != nil {
		t.Fatal(err)
	}
	check := func(want string) {
		t.Helper()
		if names, text := contents(t, path); text != want ||
			!slices.Equal(names, []string{"file", "file.new"}) {
			t.Errorf("%q holds %q, want %q; the folder has %q", path, text, want, names)
		}
	}
	if err := WriteNew(path, []byte("first")); err != nil {
		t.Fatal(err)
	}
	check("first")
	if err := WriteNew(path, []byte("second")); !errors.Is(err, fs.ErrExist) {
		t.Errorf("the file exists, and the error is %v", err)
	}
	check("first")
	if err := Write(path, []byte("third")); err != nil {
		t.Fatal(err)
	}
	check("third")
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file has mode %v (%v)", info.Mode(), err)
	}
	if _, text := contents(t, path+".new"); text != "of a person" {
		t.Errorf("the file of another name holds %q", text)
	}
}

// If a folder has the name of a file, the file can't be written, and no temporary file is left.
func TestUnnamed(t *testing.T) {
	folder := t.TempDir()
	if err := os.MkdirAll(filepath.Join(folder, "file", "in the way"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, write := range map[string]func(string, []byte) error{"Write": Write,
		"WriteNew": WriteNew} {
		if err := write(filepath.Join(folder, "file"), nil); err == nil {
			t.Errorf("%s has written a folder", name)
		}
	}
	if err := Write(filepath.Join(folder, "none", "file"), nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v without a folder", err)
	}
	if left, _ := filepath.Glob(filepath.Join(folder, "*")); len(left) != 1 {
		t.Errorf("the folder has %q", left)
	}
}

// Readers share a lock; a writer has it alone.
func TestLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	open := func() *os.File {
		file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = file.Close() })
		return file
	}
	a, b := open(), open()
	if err := errors.Join(Lock(a, false), Lock(b, false)); err != nil {
		t.Error(err)
	}
	if err := Lock(a, true); !errors.Is(err, ErrLocked) {
		t.Errorf("another file shares the lock, and the error is %v", err)
	}
	if err := errors.Join(b.Close(), Lock(a, true)); err != nil {
		t.Error(err)
	}
	c := open()
	if err := Lock(c, false); !errors.Is(err, ErrLocked) {
		t.Errorf("another file has the lock, and the error is %v", err)
	}
	if err := errors.Join(a.Close(), Lock(c, true)); err != nil {
		t.Error(err)
	}
}
