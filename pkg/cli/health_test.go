package cli

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// askHealth runs the health command with these arguments.
func askHealth(t *testing.T, args ...string) *program {
	t.Helper()
	p := newProgram(t, nothing)
	p.root.AddCommand(HealthCommand("tool"))
	return p.run(append([]string{"health", "--log-format", "json"}, args...)...)
}

// answering starts a server that answers every request with that code and text.
func answering(t *testing.T, code int, text string) (address string) {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(code)
		_, _ = w.Write([]byte(text + "\n"))
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.Listener.Addr().String()
}

// If the process is ready, the exit code is 0 and nothing is printed; otherwise it is 1, and
// the process's reason is logged.
func TestHealthCommand(t *testing.T) {
	for _, address := range []string{answering(t, 200, "ok"), strings.TrimPrefix(answering(t, 200, "ok"), "127.0.0.1")} {
		if p := askHealth(t, "--http", address); p.code != 0 || p.stdout.Len()+p.stderr.Len() > 0 {
			t.Errorf("%s, ready: exit %d, stdout %q, stderr %q", address, p.code, &p.stdout, &p.stderr)
		}
	}
	p := askHealth(t, "--http", answering(t, 503, "the server is away"))
	if p.code != 1 || p.stdout.Len() > 0 || !strings.Contains(p.stderr.String(), "/healthz: the server is away") {
		t.Errorf("not ready: exit %d, stdout %q, stderr %q", p.code, &p.stdout, &p.stderr)
	}
}

// If no process answers, the exit code is 1, and the error has the address, which may come
// from the environment.
func TestHealthWithoutAnAnswer(t *testing.T) {
	p := newProgram(t, nothing)
	p.root.AddCommand(HealthCommand("tool"))
	t.Setenv("NQUEENS_HTTP", "127.0.0.1:1")
	p.run("health", "--log-format", "json")
	if p.code != 1 || p.stdout.Len() > 0 || !strings.Contains(p.stderr.String(), "--http 127.0.0.1:1?") {
		t.Errorf("exit %d, stdout %q, stderr %q", p.code, &p.stdout, &p.stderr)
	}
}

// A malformed address is a usage error, and so is an argument.
func TestHealthUsageErrors(t *testing.T) {
	for _, address := range []string{"8080", "localhost", "http://localhost:8080", "a:b:c"} {
		askHealth(t, "--http", address).wantUsage(t, "tool health", "--http", "host:port")
		if err := CheckHTTP(address); !errors.As(err, new(usageError)) {
			t.Errorf("--http %s: %v, want a usage error", address, err)
		}
	}
	askHealth(t, "127.0.0.1:8080").wantUsage(t, "tool health", "127.0.0.1:8080")
	for _, address := range []string{"", ":8080", "127.0.0.1:8080", "[::1]:8080", "host:0"} {
		if err := CheckHTTP(address); err != nil {
			t.Errorf("--http %q: %v", address, err)
		}
	}
}
