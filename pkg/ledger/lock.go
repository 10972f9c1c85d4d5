package ledger

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"nqueens/pkg/durable"
	"nqueens/pkg/queens"
)

// Holder is the process that has a log open for writing, as its lock file names it.
type Holder struct {
	PID    int    `json:"pid"`
	Host   string `json:"host"`
	Server string `json:"server,omitempty"` // address of the run's server; empty if it accepts no connections
}

// LockedError says that another process has a log open for writing.
type LockedError struct {
	Folder string
	Holder Holder // zero if it is not known
}

// Error names the process.
func (e *LockedError) Error() string {
	if e.Holder.PID == 0 {
		return fmt.Sprintf("another process works on %s", e.Folder)
	}
	return fmt.Sprintf("process %d on %s works on %s", e.Holder.PID, e.Holder.Host, e.Folder)
}

const (
	lockFile = "lock"
	// lockWait is how long a writer waits: processes that list runs hold the lock for a moment.
	lockWait = 300 * time.Millisecond
	lockPoll = 10 * time.Millisecond
	// maxHolder bounds what is read of a lock file, in bytes.
	maxHolder = 4096
)

// lock is the lock of a folder, held.
type lock struct {
	file   *os.File
	holder Holder
}

// acquire locks the folder of a run for writing. The error is a [LockedError] if another process holds the lock.
func acquire(folder string) (*lock, error) {
	path := filepath.Join(folder, lockFile)
	err := ownFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	var file *os.File
	if err == nil {
		file, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	}
	if err != nil {
		return nil, fmt.Errorf("lock the ledger: %w", err)
	}
	deadline := time.Now().Add(lockWait)
	for err = durable.Lock(file, true); errors.Is(err, durable.ErrLocked) && time.Now().Before(deadline); err = durable.Lock(file, true) {
		time.Sleep(lockPoll)
	}
	if err != nil {
		if errors.Is(err, durable.ErrLocked) {
			err = &LockedError{Folder: folder, Holder: readHolder(file)}
		}
		return nil, errors.Join(err, file.Close())
	}
	host, _ := os.Hostname()
	l := &lock{file: file, holder: Holder{PID: os.Getpid(), Host: queens.SanitizeName(cmp.Or(host, "this machine"))}}
	l.publish("")
	return l, nil
}

// ownFile returns an error unless a path is a file. A folder from elsewhere may have a link there, and what is written would go
// to the file to which that leads.
func ownFile(path string) error {
	info, err := os.Lstat(path)
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is a link or a device, not a file: remove it", path)
	}
	return err
}

// Lock locks the folder of a run as a writer of its log does, until unlock is called. Whoever removes a run calls it. The
// error is that of [Open].
func Lock(folder string) (unlock func() error, err error) {
	l, err := acquire(folder)
	if err != nil {
		return nil, err
	}
	return l.release, nil
}

// publish writes who holds the lock. It ignores errors: the file only informs, and a disk that fails shows in the log.
func (l *lock) publish(server string) {
	l.holder.Server = server
	text, err := json.Marshal(l.holder)
	if err == nil && l.file.Truncate(0) == nil {
		_, _ = l.file.WriteAt(text, 0)
	}
}

func (l *lock) release() error {
	_ = l.file.Truncate(0)
	return l.file.Close()
}

// readHolder returns what a lock file says. It is valid only while the file is locked.
func readHolder(file *os.File) (h Holder) {
	text := make([]byte, maxHolder)
	size, _ := file.ReadAt(text, 0)
	if json.Unmarshal(text[:size], &h) != nil {
		return Holder{}
	}
	h.Host, h.Server = queens.SanitizeName(h.Host), queens.SanitizeName(h.Server)
	return h
}

// Held returns a [LockedError] if a process has the log in a folder open for writing, and nil if none has.
func Held(folder string) error {
	path := filepath.Join(folder, lockFile)
	err := ownFile(path) // opening a pipe would wait
	if errors.Is(err, fs.ErrNotExist) {
		return nil // a copy
	}
	if err != nil {
		return err
	}
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	err = durable.Lock(file, false)
	if errors.Is(err, durable.ErrLocked) {
		err = &LockedError{Folder: folder, Holder: readHolder(file)}
	}
	return errors.Join(err, file.Close())
}
