// Package run is the plain data of a run over time: its name and state, its record on the
// server, what coordinator and workers report, and positions in the stream of results. It
// does no I/O and starts no goroutine. What is counted is in package queens.
package run

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"time"
)

// NewName returns a name for a run of board side n that starts at the given time, such as
// n18-20261120-153012-ab12.
func NewName(n int, at time.Time) string {
	var suffix [2]byte
	rand.Read(suffix[:]) // never fails, see crypto/rand
	return fmt.Sprintf("n%d-%s-%s", n, at.UTC().Format("20060102-150405"), hex.EncodeToString(suffix[:]))
}
