package natsserver

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
)

func TestRepeatedErrorsAreRateLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		l := newServerLog(zerolog.New(&out), "")
		for range 60 {
			l.Errorf("disk %s", "full")
			l.Warnf("disk %s", "nearly full")
			time.Sleep(time.Second)
		}
		if got := strings.Count(out.String(), "\n"); got != 4 {
			t.Errorf("%d lines in a minute, want 2 of each:\n%s", got, out.String())
		}
	})
}
