package ledger

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"nqueens/pkg/durable"
	"nqueens/pkg/queens"
)

// Holder is the process that holds the lock of a run's folder, as the lock file says.
type Holder struct {
	PID  int    `json:"pid"`
	Host string `json:"host"`
	// address of the run's NATS server; empty if no other process can connect to it
	Server string `json:"server,omitempty"`
	// Flags are those with which the run goes on: what the ledger does not keep. They stay in the file
	// when nobody holds the lock.
	Flags []string `json:"flags,omitempty"`
}

// LockedError says that another process holds the lock of a run's folder: see [Lock].
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
	// lockWait is how long a writer waits for the lock: processes that list runs hold the lock for a
	// moment.
	lockWait = 300 * time.Millisecond
	lockPoll = 10 * time.Millisecond
	// maxHolder is the greatest number of bytes that are read from a lock file.
	maxHolder = 4096
)

// FolderLock is a held lock of a run's folder.
type FolderLock struct {
	file  *os.File
	flags []string // see [Holder]
}

// Lock locks the folder of a run. A process needs the lock to write the log or to remove the run.
// Lock waits up to 300 ms for it. The error wraps a [LockedError] if another process holds the
// lock.
func Lock(folder string) (*FolderLock, error) {
	for wait := lockWait; ; wait -= lockPoll {
		file, err := openLock(folder, os.O_RDWR|os.O_CREATE, true)
		if err == nil {
			l := &FolderLock{file, readHolder(file).Flags}
			l.publish("", l.flags)
			return l, nil
		}
		if !errors.As(err, new(*LockedError)) || wait <= 0 {
			return nil, err
		}
		time.Sleep(lockPoll)
	}
}

// Held returns an error that wraps a [LockedError] if a process holds the lock of a folder, and nil
// if none holds it. Any other error says why Held can't tell.
func Held(folder string) error {
	file, err := openLock(folder, os.O_RDONLY, false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // no process has locked it: it may be a copy
	}
	if err == nil {
		err = file.Close()
	}
	return err
}

// openLock opens the lock file of a folder and locks it, shared or exclusively.
func openLock(folder string, flags int, exclusive bool) (*os.File, error) {
	path := filepath.Join(folder, lockFile)
	if err := ownFile(path); err != nil { // opening a pipe would wait
		return nil, err
	}
	file, err := os.OpenFile(path, flags, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock the ledger: %w", err)
	}
	err = durable.Lock(file, exclusive)
	if errors.Is(err, durable.ErrLocked) {
		err = &LockedError{folder, readHolder(file)}
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// ownFile returns an error if there is something other than a regular file at a path. A folder that
// came from elsewhere may have a link at the path, and a process that writes through the link would
// overwrite another file.
func ownFile(path string) error {
	info, err := os.Lstat(path)
	if err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s is a link or a device, not a file: remove it", path)
	}
	return nil
}

// publish writes into the lock file that this process holds the lock, the server's address, and the
// flags. It ignores errors: no count depends on this file, and writing the log reveals a failing
// disk.
func (l *FolderLock) publish(server string, flags []string) {
	l.flags = flags
	host, _ := os.Hostname()
	l.write(Holder{os.Getpid(), cmp.Or(host, "this machine"), server, flags})
}

func (l *FolderLock) write(h Holder) {
	text, err := json.Marshal(h)
	if err == nil && len(text) <= maxHolder && l.file.Truncate(0) == nil {
		_, _ = l.file.WriteAt(text, 0)
	}
}

// Release unlocks the folder.
func (l *FolderLock) Release() error {
	l.write(Holder{Flags: l.flags})
	return l.file.Close()
}

// LastFlags returns the flags with which the last coordinator of a run would go on: see [Holder].
// They come from a file that anybody may have written. Without them it returns nil.
func LastFlags(folder string) []string {
	path := filepath.Join(folder, lockFile)
	if ownFile(path) != nil {
		return nil
	}
	file, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer func() { _ = file.Close() }() // it is only read
	return readHolder(file).Flags
}

// readHolder reads the holder from a lock file. What the file says is valid only while a process
// holds the lock.
func readHolder(file *os.File) (h Holder) {
	if json.NewDecoder(io.NewSectionReader(file, 0, maxHolder)).Decode(&h) != nil {
		return Holder{}
	}
	h.Host, h.Server = queens.SanitizeName(h.Host), queens.SanitizeName(h.Server)
	return h
}
