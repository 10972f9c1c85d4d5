package ledger

import (
	"cmp"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

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
	Updated time.Time `json:"updated"`
	Done    uint64    `json:"done"` // Tasks with an accepted result at Updated.
	// Bound is what bounds the run, empty if it is not known.
	Bound run.Bound `json:"bound,omitempty"`
	// Server is the URL of the run's NATS server for other machines, without a password;
	// empty if it accepts no connections from outside, or before it is known.
	Server string `json:"server,omitempty"`
	// Pace is how far the run is and how fast, by the latest snapshot; nil before the first.
	Pace    *run.Pace `json:"pace,omitempty"`
	Workers int       `json:"workers,omitempty"`
	Sharing string    `json:"sharing,omitempty"` // Other runs that use the same workers, with spaces between.
}

const (
	lockInfoFile     = "holder.json"
	lockInfoInterval = time.Second // At least this long between updates of Done and Pace.
)

// claimLockInfo replaces the holder.json of a killed writer by one that names this
// process.
func (l *Ledger) claimLockInfo() {
	_ = os.Remove(l.lockInfoPath())
	host, _ := os.Hostname()
	l.lockInfo = LockInfo{PID: os.Getpid(), Host: cmp.Or(host, "this machine"), Since: canonicalTime(time.Now())}
	l.writeLockInfo()
}

// addRunToLockInfo adds the run to holder.json.
func (l *Ledger) addRunToLockInfo() {
	i, m := &l.lockInfo, &l.header.Manifest
	i.Run, i.Created = l.header.Run, l.header.Created
	i.Placed = strings.Trim(fmt.Sprint(m.Placed), "[]")
	i.N, i.Symmetry, i.Tasks, i.Hash = m.N, m.Symmetry, m.Tasks, hex.EncodeToString(m.Hash[:])
	l.writeLockInfo()
}

// SetServerURL publishes the URL at which others reach the run's server, see
// [LockInfo]. It does nothing if the ledger is open for reading only.
func (l *Ledger) SetServerURL(url string) {
	l.lockInfo.Server = url
	l.writeLockInfo()
}

// SetBound publishes what bounds the run, see [LockInfo].
func (l *Ledger) SetBound(b run.Bound) {
	if l.lockInfo.Bound != b {
		l.lockInfo.Bound = b
		l.writeLockInfo()
	}
}

// SetProgress publishes how far the run is and how fast, the number of workers, and the other runs
// that use them, see [LockInfo]: within a second or so; at once the first time, and if those
// other runs change.
func (l *Ledger) SetProgress(p *run.Progress) {
	i := &l.lockInfo
	first, before := i.Pace == nil, i.Sharing
	i.Pace, i.Workers, i.Sharing = new(p.Pace()), p.WorkerCount, strings.Join(p.SharedWith, " ")
	if first || i.Sharing != before || time.Since(i.Updated) >= lockInfoInterval {
		l.writeLockInfo()
	}
}

// writeLockInfo writes holder.json, unless this is a reader. It ignores errors: the
// file only informs people, and a disk that fails shows in the ledger itself.
func (l *Ledger) writeLockInfo() {
	if l.mode != readWrite {
		return
	}
	l.lockInfo.Updated, l.lockInfo.Done = canonicalTime(time.Now()), l.Len()
	text, err := json.Marshal(l.lockInfo)
	if err != nil {
		return
	}
	path := l.lockInfoPath()
	if os.WriteFile(path+".new", text, 0o600) != nil || os.Rename(path+".new", path) != nil {
		_ = os.Remove(path + ".new")
	}
}

// removeLockInfo removes the holder.json of a writer that holds the lock.
func (l *Ledger) removeLockInfo() {
	if l.lockInfo.PID != 0 {
		_ = os.Remove(l.lockInfoPath())
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
	return i
}
