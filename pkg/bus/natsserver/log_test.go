package natsserver

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
)

// Clients that the server refuses are two warnings a minute, however many there are, and hide no other error. So are
// clients with other errors, whatever they send.
func TestErrorsOfClientsAreRateLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		l := newServerLog(zerolog.New(&out), "")
		for client := range 120 {
			l.Errorf("192.0.2.7:%d - cid:%d - TLS  handshake error: EOF", 40000+client, client)
			l.Errorf("192.0.2.7:%d - cid:%d - authentication error - Nkey %q", 40000+client, client, "U")
			l.Errorf("[2001:db8::1]:%d - cid:%d - \"v1:go\" - Client parser ERROR, proto='TLS x%d handshake'", 40000+client, client, client)
			time.Sleep(time.Second)
		}
		l.Errorf("disk %s", "full")
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		last := lines[len(lines)-1]
		if len(lines) != 13 || strings.Count(out.String(), `"level":"warn"`) != 8 || !strings.Contains(last, "disk full") {
			t.Errorf("%d lines in two minutes, want 4 of each kind and the last error:\n%s", len(lines), out.String())
		}
	})
}

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
