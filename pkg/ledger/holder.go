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
	holderName   = "holder.json"
	refreshEvery = 2 * time.Second
)

// takeHold says in the folder who has the ledger locked, in place of a writer that was
// killed.
func (l *Ledger) takeHold() {
	_ = os.Remove(filepath.Join(filepath.Dir(l.path), holderName))
	host, err := os.Hostname()
	if err != nil {
		host = "this machine"
	}
	l.holder = LockInfo{PID: os.Getpid(), Host: host, Since: plain(time.Now())}
	l.tellHolder()
}

// tellRun says in the folder which run the holder has.
func (l *Ledger) tellRun() {
	h, m := &l.holder, &l.header.Manifest
	h.Run, h.Created = l.header.Run, l.header.Created
	h.Placed = strings.Trim(fmt.Sprint(m.Placed), "[]")
	h.N, h.Symmetry, h.Tasks, h.Hash = m.N, m.Symmetry, m.Tasks, hex.EncodeToString(m.Hash[:])
	l.tellHolder()
}

// SetServerURL says in the folder at which URL others reach the run's server, for those who
// look who has the ledger; see [Holder]. It does nothing where the ledger was opened for
// reading.
func (l *Ledger) SetServerURL(url string) {
	if l.holder == (LockInfo{}) {
		return
	}
	l.holder.Server = url
	l.tellHolder()
}

// tellHolder writes holder.json. It is there for people, and an error that matters
// shows in the ledger itself: here it changes nothing.
func (l *Ledger) tellHolder() {
	l.holder.Updated, l.holder.Done = plain(time.Now()), l.Len()
	text, err := json.Marshal(l.holder)
	if err != nil {
		return
	}
	path := filepath.Join(filepath.Dir(l.path), holderName)
	if os.WriteFile(path+".new", text, 0o600) == nil && os.Rename(path+".new", path) == nil {
		return
	}
	_ = os.Remove(path + ".new")
}

// letGo removes the holder.json of a writer, while the ledger is still locked.
func (l *Ledger) letGo() {
	if l.holder == (LockInfo{}) {
		return
	}
	_ = os.Remove(filepath.Join(filepath.Dir(l.path), holderName))
}

// readHolder returns who has the ledger of a folder open for writing, as far as it can
// be read. It is to be asked only while a writer has the ledger locked.
func readHolder(folder string) LockInfo {
	var h LockInfo
	text, err := os.ReadFile(filepath.Join(folder, holderName))
	if err != nil || json.Unmarshal(text, &h) != nil {
		return LockInfo{}
	}
	return h
}
