package ledger

import (
	"cmp"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"nqueens/pkg/durable"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
)

// LockInfo describes the process that has a ledger open for writing, the run, and its
// progress: nobody else can read the ledger meanwhile. While the ledger is being opened,
// Run to Hash are zero until they have been read, and Done until it has been counted.
type LockInfo struct {
	Run      string          `json:"run"`
	Created  time.Time       `json:"created"`
	N        int             `json:"n"`
	Symmetry queens.Symmetry `json:"symmetry"`
	Placed   string          `json:"placed,omitempty"` // Queens placed beforehand, such as "0,3 5,7".
	Tasks    uint64          `json:"tasks"`
	Hash     string          `json:"hash"` // Of the manifest, in hexadecimal.

	PID     int       `json:"pid"`
	Host    string    `json:"host"`
	Since   time.Time `json:"since"`
	Socket  string    `json:"socket,omitempty"` // In the folder of the ledger; empty if the process has none.
	Updated time.Time `json:"updated"`
	Done    uint64    `json:"done"` // Tasks with an accepted result at Updated.
	// Server is the URL of the run's NATS server for other machines, without a password;
	// empty if it accepts no connections from outside, or before it is known.
	Server string `json:"server,omitempty"`
	// Snapshot is the latest one, without workers; nil before the first.
	Snapshot *run.Snapshot `json:"snapshot,omitempty"`
}

const lockInfoFile = "holder.json"

// lockInfo is what holder.json is to say. The event loop of a coordinator notes in it what others write to the disk.
type lockInfo struct {
	done atomic.Uint64 // Tasks with an accepted result.

	mu   sync.Mutex
	info LockInfo // Apart from Updated and Done; zero for a reader, and once the ledger is closed.

	writing sync.Mutex // Held while the file is written or removed.
}

// note changes what the next write of holder.json says.
func (i *lockInfo) note(change func(*LockInfo)) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.info.PID != 0 {
		change(&i.info)
	}
}

// now returns what holder.json is to say now; zero for nothing.
func (i *lockInfo) now() LockInfo {
	i.mu.Lock()
	defer i.mu.Unlock()
	info := i.info
	info.Updated, info.Done = canonicalTime(time.Now()), i.done.Load()
	return info
}

// claimLockInfo replaces the holder.json of a killed writer by one that names this
// process.
func (l *Ledger) claimLockInfo() {
	_ = os.Remove(l.lockInfoPath())
	host, _ := os.Hostname()
	l.lockInfo.info = LockInfo{PID: os.Getpid(), Host: cmp.Or(host, "this machine"), Since: canonicalTime(time.Now())}
	l.WriteLockInfo()
}

// addRunToLockInfo adds the run to holder.json.
func (l *Ledger) addRunToLockInfo() {
	m := &l.header.Manifest
	l.lockInfo.note(func(i *LockInfo) {
		i.Run, i.Created = l.header.Run, l.header.Created
		i.Placed = strings.Trim(fmt.Sprint(m.Placed), "[]")
		i.N, i.Symmetry, i.Tasks, i.Hash = m.N, m.Symmetry, m.Tasks, hex.EncodeToString(m.Hash[:])
	})
	l.WriteLockInfo()
}

// SetSocket publishes where this process answers others, see [LockInfo].
func (l *Ledger) SetSocket(path string) {
	l.lockInfo.note(func(i *LockInfo) { i.Socket = path })
	l.WriteLockInfo()
}

// SetServerURL publishes the URL at which others reach the run's server, see
// [LockInfo], at once. It does nothing if the ledger is open for reading only.
func (l *Ledger) SetServerURL(url string) {
	l.lockInfo.note(func(i *LockInfo) { i.Server = url })
	l.WriteLockInfo()
}

// SetSnapshot notes the latest snapshot, see [LockInfo]; WriteLockInfo publishes it.
func (l *Ledger) SetSnapshot(s *run.Snapshot) {
	stored := *s
	stored.WorkerList = nil
	l.lockInfo.note(func(i *LockInfo) { i.Snapshot = &stored })
}

// WriteLockInfo writes holder.json, unless the ledger is closed or open for reading only. Accept and the other
// methods that store results write no file but that of the ledger, so another goroutine calls WriteLockInfo every
// few seconds, at any time. It ignores errors: the file only informs people, and a disk that fails shows in
// the ledger itself.
func (l *Ledger) WriteLockInfo() {
	l.lockInfo.writing.Lock()
	defer l.lockInfo.writing.Unlock()
	info := l.lockInfo.now()
	if info.PID == 0 {
		return
	}
	text, err := json.Marshal(info)
	if err != nil {
		return
	}
	_ = durable.Write(l.lockInfoPath(), text, 0o600)
}

// removeLockInfo removes the holder.json of a writer that holds the lock, for good.
func (l *Ledger) removeLockInfo() {
	l.lockInfo.writing.Lock()
	defer l.lockInfo.writing.Unlock()
	if l.lockInfo.now().PID != 0 {
		_ = os.Remove(l.lockInfoPath())
	}
	l.lockInfo.note(func(i *LockInfo) { *i = LockInfo{} })
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
	return i
}
