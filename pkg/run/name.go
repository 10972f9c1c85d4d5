// Package run describes a run in time: its name, its state, what a coordinator and its workers
// report, and where a run stands in the stream of results. It is plain data: it
// reads no file, opens no connection, and starts no goroutine.
package run

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"time"
)

// NewName returns a name for a run of board side n started at the given time, such
// as n18-20261120-153012-ab12.
func NewName(n int, at time.Time) string {
	var salt [2]byte
	rand.Read(salt[:]) // never fails, see crypto/rand
	return fmt.Sprintf("n%d-%s-%s", n, at.UTC().Format("20060102-150405"), hex.EncodeToString(salt[:]))
}
