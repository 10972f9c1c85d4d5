package natsserver

import (
	"bytes"
	"strings"
	"testing"

	"github.com/rs/zerolog"
)

// The server's refusals and errors are warnings, but a stranger can't fill the log with them.
func TestServerErrorsAreWarnings(t *testing.T) {
	var b bytes.Buffer
	log := newServerLog(zerolog.New(&b).Level(zerolog.InfoLevel))
	log.Errorf("Temporary %s Accept Error(%v)", "Client", "too many open files\n")
	if !strings.Contains(b.String(), `"warn"`) ||
		!strings.Contains(b.String(), "Accept Error(too many open files?)") {
		t.Errorf("the log is %s", b.String())
	}
	for range 100 {
		log.Errorf("authentication error")
	}
	if n := strings.Count(b.String(), "\n"); n != warnings {
		t.Errorf("%d lines, want %d", n, warnings)
	}
}

// With and without users, the server waits 30 s for the TLS handshake and the password of a client.
func TestLoginTimeouts(t *testing.T) {
	for _, access := range []string{"", "authorization { user: u, password: p }"} {
		options, err := (&Config{Authorization: access}).options()
		if err != nil || options.TLSTimeout != 30 || options.AuthTimeout != 30 {
			t.Errorf("with %q: %v s, %v s, error %v", access, options.TLSTimeout, options.AuthTimeout, err)
		}
	}
}
