//go:build unix

package ledger

import (
	"errors"
	"os"
	"syscall"
	"testing"

	"nqueens/pkg/durable"
)

// No reader waits for a pipe that has the name of a log.
func TestPipe(t *testing.T) {
	path, l := newRun(t)
	if err := errors.Join(l.Close(), os.Remove(path), syscall.Mkfifo(path, 0o600)); err != nil {
		t.Fatal(err)
	}
	_, _, load := Load(path)
	_, last := ReadLast(path)
	read := Read(path, func(Record) error { return nil })
	for _, err := range []error{load, last, read} {
		if !errors.Is(err, durable.ErrNotFile) {
			t.Error(err)
		}
	}
	if _, _, _, err := Open(path); err == nil {
		t.Error("a pipe is opened for writing")
	}
}
