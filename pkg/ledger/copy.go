package ledger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"syscall"

	"go.etcd.io/bbolt"

	"nqueens/pkg/durable"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
)

// This file copies ledgers, also while they are written.

// WriteCopy writes the ledger as it is at one moment, in the form of its file. It calls begin
// first, with the size in bytes. Another goroutine may use the ledger and close it meanwhile;
// what it writes is not in the copy, and Close waits for the end of the copy. The writer can't use pages again meanwhile
// that it replaces, so the file grows, and stays so large: w must not take long.
func (l *Ledger) WriteCopy(w io.Writer, begin func(size int64) error) (err error) {
	// Like recoverBolt, which is for the goroutine that uses the ledger.
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = l.damaged(fmt.Errorf("reading it fails: %v", p))
		}
	}()
	return l.db.View(func(tx *bbolt.Tx) error {
		if err := begin(tx.Size()); err != nil {
			return err
		}
		_, err := tx.WriteTo(w)
		return err
	})
}

// CopyFile writes the file of the ledger in a folder as it is, without checking it. The error is a
// [LockedError] if the ledger is open for writing. A writer that opens it meanwhile has to wait.
func CopyFile(folder string, w io.Writer) error {
	l, err := openLocked(context.Background(), filepath.Join(folder, File), readOnly)
	if err != nil {
		return err
	}
	_, err = io.Copy(w, l.file)
	return cmp.Or(err, l.release())
}

// Contents says what a copy of a ledger holds.
type Contents struct {
	Run      string          `json:"run"`              // name of the run
	N        int             `json:"n"`                // side of the board
	Symmetry queens.Symmetry `json:"symmetry"`         // "full", "mirror" or "none"
	Placed   []queens.Square `json:"placed,omitempty"` // squares of the queens placed beforehand
	// "running", also if the coordinator is lost, "stopped", "complete", "contradicted" or "cancelled"
	State run.State `json:"state"`
	Done  uint64    `json:"done"`  // tasks with an accepted count
	Tasks uint64    `json:"tasks"` // all tasks
	Bytes int64     `json:"bytes"` // size of the copy
	File  string    `json:"file"`  // the copy: of "restore", the ledger of the run
}

// contents returns what the ledger holds, which is the copy of that name.
func (l *Ledger) contents(path string) (Contents, error) {
	info, err := l.file.Stat()
	if err != nil {
		return Contents{}, l.wrapIO(err)
	}
	m := &l.header.Manifest
	return Contents{
		Run: l.header.Run, N: m.N, Symmetry: m.Symmetry, Placed: m.Placed, State: l.State(), Done: l.Len(), Tasks: m.Tasks, Bytes: info.Size(), File: path,
	}, nil
}

// CreateCopy creates a file from what fill writes, which must be the whole ledger of a run of that name. The file is
// checked as [OpenReadOnly] does, and is on disk when CreateCopy returns.
// A file that had the name is replaced by a complete one, or stays as it was after an error or if
// this process is killed, see package durable. Errors name the source.
func CreateCopy(path, source, name string, fill func(io.Writer) error) (Contents, error) {
	return createCopy(path, source, name, fill, (*durable.File).Replace)
}

// CopyTo creates a ledger with the same contents in a folder, and the folder if it does not
// exist. The error wraps [fs.ErrExist] if the folder has a ledger.
func (l *Ledger) CopyTo(folder string) (Contents, error) {
	if err := makeFolder(folder); err != nil {
		return Contents{}, err
	}
	path := filepath.Join(folder, File)
	fill := func(w io.Writer) error {
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) { // before all is written
			return cmp.Or(err, fs.ErrExist)
		}
		return l.WriteCopy(w, func(int64) error { return nil })
	}
	return createCopy(path, l.path, l.header.Run, fill, (*durable.File).Link)
}

func createCopy(path, source, name string, fill func(io.Writer) error, finish func(*durable.File) error) (c Contents, err error) {
	defer func() {
		if errors.Is(err, syscall.ENOSPC) {
			err = fmt.Errorf("%w: make room, or name a file on another disk", err)
		}
		if err != nil {
			err = fmt.Errorf("the copy %s is not written: %w", path, err)
		}
	}()
	file, err := durable.Create(path, 0o600)
	if err != nil {
		return c, err
	}
	l := &Ledger{path: source, mode: readOnly, file: file.File} // it is the source that is damaged, if the copy is
	defer func() {
		file.Discard()
		err = cmp.Or(err, l.release())
	}()
	err = fill(struct{ io.Writer }{l.file}) // hides ReadFrom, which blames the file for errors of the source
	if err == nil {
		err = cmp.Or(l.file.Sync(), l.read())
	}
	if err == nil {
		c, err = l.contents(path)
	}
	if err == nil && c.Run != name {
		err = fmt.Errorf("it is of run %s", c.Run)
	}
	if err == nil {
		err = finish(file)
	}
	return c, err
}
