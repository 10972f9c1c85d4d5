package ledger

import (
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"time"

	"nqueens/pkg/durable"
	"nqueens/pkg/queens"
)

// LockInfo describes the process that has a ledger open for writing: nobody else can read the ledger meanwhile.
type LockInfo struct {
	PID   int       `json:"pid"`
	Host  string    `json:"host"`
	Since time.Time `json:"since"`
	// Socket is where the process answers others, in the folder of the ledger; empty if it does not.
	Socket string `json:"socket,omitempty"`
}

const lockInfoFile = "holder.json"

// claimLockInfo replaces the holder.json of a killed writer by one that names this
// process.
func (l *Ledger) claimLockInfo() {
	_ = os.Remove(l.lockInfoPath())
	host, _ := os.Hostname()
	l.lockInfo = LockInfo{PID: os.Getpid(), Host: cmp.Or(host, "this machine"), Since: canonicalTime(time.Now())}
	l.writeLockInfo()
}

// SetSocket publishes where this process answers others, see [LockInfo], if it is the writer.
func (l *Ledger) SetSocket(name string) {
	if l.lockInfo != (LockInfo{}) {
		l.lockInfo.Socket = name
		l.writeLockInfo()
	}
}

// writeLockInfo ignores errors: the file only informs, and a disk that fails shows in the ledger itself.
func (l *Ledger) writeLockInfo() { _ = durable.WriteJSON(l.lockInfoPath(), l.lockInfo) }

// removeLockInfo removes the holder.json of a writer that holds the lock.
func (l *Ledger) removeLockInfo() {
	if l.lockInfo != (LockInfo{}) {
		_ = os.Remove(l.lockInfoPath())
		l.lockInfo = LockInfo{}
	}
}

func (l *Ledger) lockInfoPath() string { return filepath.Join(filepath.Dir(l.path), lockInfoFile) }

// readLockInfo returns what holder.json in a folder says, as far as it can be read. It
// is valid only while a writer holds the lock.
func readLockInfo(folder string) LockInfo {
	var i LockInfo
	text, err := os.ReadFile(filepath.Join(folder, lockInfoFile))
	if err != nil || json.Unmarshal(text, &i) != nil {
		return LockInfo{}
	}
	i.Host = queens.SanitizeName(i.Host)
	return i
}
