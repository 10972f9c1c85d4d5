package bus

import (
	"strings"
	"testing"
)

// A worker may have any name: its heartbeat subject has one plain token.
func TestHeartbeatSubjectIsOneToken(t *testing.T) {
	for _, worker := range []string{
		"laptop-3f9a21", "host.example.org", "a b", "*", ">", "a.*.>", "..", "tab\tname", "line\r\nPUB x 0\r\n",
		"\x00\xff", "女王", "", strings.Repeat("x", 1<<20),
	} {
		subject := heartbeatSubject(worker)
		token, ok := strings.CutPrefix(subject, "nq.hb.")
		if !ok || token == "" || strings.ContainsAny(token, ".*> \t\r\n\x00") {
			t.Errorf("worker %.40q: its subject is %.60q", worker, subject)
		}
		if len(subject) > 256 {
			t.Errorf("worker %.40q: its subject has %d bytes; servers end a connection over lines of 4096", worker, len(subject))
		}
	}
}

// Redacted addresses never show a password, even if they are malformed, but show the host of
// a well-formed address.
func TestRedactHidesCredentials(t *testing.T) {
	for given, shown := range map[string]string{
		"nats://127.0.0.1:4222":                    "127.0.0.1:4222",
		"127.0.0.1:4222":                           "127.0.0.1:4222",
		"localhost":                                "localhost",
		"localhost:4222":                           "localhost:4222",
		"nats://queen:s3cret@h:4222":               "h:4222",
		"tls://s3cret@h:4222":                      "h:4222",
		"queen:s3cret@h:4222":                      "",
		"s3cret@h:4222":                            "",
		"s3cret@h":                                 "",
		"nats://queen:s3cret#@h:4222":              "",
		"nats://queen:s3cret%zz@h":                 "",
		"nats://queen:s3cret/@h:4222":              "",
		"nats://queen:s3cret?@h:4222":              "",
		"nats://queen:1234/s3cret@h:4222":          "",
		"nats://queen:s3cret@h:port":               "",
		"nats://h1, nats://q:s3cret@h2 ,s3cret@h3": "h2",
		"nats://q:s3cret@h1:4222,q:s3cret@h2:4222,nats://h3:\x7f@x": "h1:4222",
	} {
		got := redact(given)
		if strings.Contains(got, "s3cret") {
			t.Errorf("%q is redacted to %q", given, got)
		}
		if !strings.Contains(got, shown) {
			t.Errorf("%q is redacted to %q, want %q in it", given, got, shown)
		}
	}
}
