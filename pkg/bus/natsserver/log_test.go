package natsserver

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"nqueens/pkg/run"
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

// A log line of the server that tells of a lost store ends Failure, with what it means and
// what to do. The lines are those of nats-server 2.15.
func TestStorageFailuresAreExplained(t *testing.T) {
	t.Parallel()
	const block = "write /data/n8-a/nats/jetstream/$G/streams/NQ_RESULTS/msgs/1.blk: "
	for line, want := range map[string]string{
		"Filestore [NQ_RESULTS] Critical write error: " + block + "no space left on device":                   "the disk of DIR is full: make room and resume",
		"JetStream failed to store a msg on stream '$G > NQ_TASKS': " + block + "no space left on device":     "the disk of DIR is full",
		"Filestore [NQ_RESULTS] Critical write error: " + block + "disk quota exceeded":                       "quota for DIR",
		"Filestore [NQ_RESULTS] Critical write error: " + block + "input/output error":                        "the disk of DIR fails",
		"Filestore [NQ_RESULTS] Critical write error: " + block + "read-only file system":                     "the disk of DIR is read-only",
		"Filestore [NQ_RESULTS] Critical write error: " + block + "file too large":                            "can't write to DIR",
		"Filesystem permission denied while writing msg, disabling JetStream: " + block + "permission denied": "can't write to DIR",
		"JetStream stream '$G > NQ_TASKS' critical write error: no message cache":                             "can't write to DIR",
		"File system permission denied while writing, disabling JetStream":                                    "can't write to DIR",
		"JetStream out of File resources, will be DISABLED":                                                   "can't write to DIR",
	} {
		for level, say := range map[string]func(*serverLog, string, ...any){"error": (*serverLog).Errorf, "warning": (*serverLog).Warnf} {
			s := &Server{log: newServerLog(zerolog.Nop(), "DIR")}
			say(s.log, "%s", line)
			say(s.log, "another: no space left on device")
			err := s.Failure(t.Context())
			if !errors.Is(err, run.ErrIncomplete) {
				t.Errorf("%s %q: error %v, want one that wraps %v", level, line, err, run.ErrIncomplete)
				continue
			}
			for _, words := range []string{want, "resume", line} {
				if !strings.Contains(err.Error(), words) {
					t.Errorf("%s %q: error %q does not say %q", level, line, err, words)
				}
			}
		}
	}
}

// Errors from which the server recovers do not end Failure; its context does.
func TestRecoverableErrorsAreNoFailure(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		"JetStream failed to store a msg on stream '$G > NQ_TASKS': maximum messages per subject exceeded",
		"JetStream file resource limits exceeded for account: \"$G\"",
		"Filestore [NQ_TASKS] Resource not found: open 1.blk: no such file or directory",
		"JetStream API queue limit reached, dropping 10000 requests",
		"127.0.0.1:38210 - cid:7 - Slow Consumer Detected: WriteDeadline of 10s exceeded",
		"Critical",
		// Text of clients, which need no key to send it.
		`192.0.2.7:57608 - cid:19 - "v1:go:disabling JetStream" - "$G/user:x" - Client parser ERROR, state=0, i=0: proto='"no space left on device"...'`,
		`[2001:db8::1]:38282 - cid:22 - authentication error - User "disabling JetStream"`,
		`192.0.2.7:38282 - wid:23 - authentication error - User "will be DISABLED"`,
	} {
		s := &Server{log: newServerLog(zerolog.Nop(), "DIR")}
		s.log.Errorf("%s", line)
		s.log.Warnf("%s", line)
		s.log.Noticef("a notice: no space left on device")
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		err := s.Failure(ctx)
		cancel()
		if err != nil {
			t.Errorf("%q: error %v", line, err)
		}
	}
}
