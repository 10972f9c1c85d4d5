//go:build unix

package durable

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// Opening a pipe is refused at once, although nobody writes to it.
func TestOpenPipe(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, flags := range []int{os.O_RDONLY, os.O_RDWR} {
		if file, err := Open(pipe, flags); file != nil || !errors.Is(err, ErrNotFile) {
			t.Errorf("flags %d: %v", flags, err)
		}
	}
}

// SyncData asks the system: it fails where the system can sync nothing.
func TestSyncData(t *testing.T) {
	from, to, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = from.Close(), to.Close() }()
	if err := SyncData(to); err == nil {
		t.Error("a pipe is synced")
	}
	file, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(SyncData(file), file.Close()); err != nil {
		t.Error(err)
	}
	if err := SyncData(file); err == nil {
		t.Error("a closed file is synced")
	}
}
