package report

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
)

// What takes longer than a second is logged then, and again each minute; what is quicker is not.
func TestSlow(t *testing.T) {
	for took, lines := range map[time.Duration]int{
		time.Second / 2: 0, 2 * time.Second: 1, 3*time.Minute + 2*time.Second: 4,
	} {
		synctest.Test(t, func(t *testing.T) {
			var log bytes.Buffer
			done := Slow(zerolog.New(&log), "auditing the ledger")
			time.Sleep(took)
			done()
			if got := strings.Count(log.String(), "auditing the ledger"); got < lines ||
				strings.Count(log.String(), "\n") != lines {
				t.Errorf("%v: %s", took, log.String())
			}
		})
	}
}
