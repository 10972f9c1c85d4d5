package ledger

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"nqueens/pkg/queens"
)

// LockInfo is the process that has a ledger open for writing, with what run, and how far
// that has come: others can't read the ledger meanwhile. Of one that is still opening
// it Run to Hash are zero until it has read them, and Done until it has counted.
type LockInfo struct {
	Run      string          `json:"run"`
	Created  time.Time       `json:"created"`
	N        int             `json:"n"`
	Symmetry queens.Symmetry `json:"symmetry"`
	Placed   string          `json:"placed,omitempty"` // queens placed beforehand, such as "0,3 5,7"
	Tasks    uint64          `json:"tasks"`
	Hash     string          `json:"hash"` // of the manifest, in hexadecimal digits

	PID     int       `json:"pid"`
	Host    string    `json:"host"`
	Since   time.Time `json:"since"`
	Updated time.Time `json:"updated"`
	Done    uint64    `json:"done"` // Tasks with an accepted result, when it was updated.
	// Server is the URL at which the run's NATS server can be reached, without a password;
	// empty where it lets nobody in, and before that is known.
	Server string `json:"server,omitempty"`
}

const (
	lockInfoFile     = "holder.json"
	lockInfoInterval = 2 * time.Second
)

// claimLockInfo says in the folder who has the ledger locked, in place of a writer that was
// killed.
func (l *Ledger) claimLockInfo() {
	_ = os.Remove(filepath.Join(filepath.Dir(l.path), lockInfoFile))
	host, err := os.Hostname()
	if err != nil {
		host = "this machine"
	}
	l.lockInfo = LockInfo{PID: os.Getpid(), Host: host, Since: canonicalTime(time.Now())}
	l.writeLockInfo()
}

// addRunToLockInfo says in the folder which run the holder has.
func (l *Ledger) addRunToLockInfo() {
	h, m := &l.lockInfo, &l.header.Manifest
	h.Run, h.Created = l.header.Run, l.header.Created
	h.Placed = strings.Trim(fmt.Sprint(m.Placed), "[]")
	h.N, h.Symmetry, h.Tasks, h.Hash = m.N, m.Symmetry, m.Tasks, hex.EncodeToString(m.Hash[:])
	l.writeLockInfo()
}

// SetServerURL says in the folder at which URL others reach the run's server, for those who
// look who has the ledger; see [Holder]. It does nothing where the ledger was opened for
// reading.
func (l *Ledger) SetServerURL(url string) {
	if l.lockInfo == (LockInfo{}) {
		return
	}
	l.lockInfo.Server = url
	l.writeLockInfo()
}

// writeLockInfo writes holder.json. It is there for people, and an error that matters
// shows in the ledger itself: here it changes nothing.
func (l *Ledger) writeLockInfo() {
	l.lockInfo.Updated, l.lockInfo.Done = canonicalTime(time.Now()), l.Len()
	text, err := json.Marshal(l.lockInfo)
	if err != nil {
		return
	}
	path := filepath.Join(filepath.Dir(l.path), lockInfoFile)
	if os.WriteFile(path+".new", text, 0o600) == nil && os.Rename(path+".new", path) == nil {
		return
	}
	_ = os.Remove(path + ".new")
}

// removeLockInfo removes the holder.json of a writer, while the ledger is still locked.
func (l *Ledger) removeLockInfo() {
	if l.lockInfo == (LockInfo{}) {
		return
	}
	_ = os.Remove(filepath.Join(filepath.Dir(l.path), lockInfoFile))
}

// readLockInfo returns who has the ledger of a folder open for writing, as far as it can
// be read. It is to be asked only while a writer has the ledger locked.
func readLockInfo(folder string) LockInfo {
	var h LockInfo
	text, err := os.ReadFile(filepath.Join(folder, lockInfoFile))
	if err != nil || json.Unmarshal(text, &h) != nil {
		return LockInfo{}
	}
	return h
}
