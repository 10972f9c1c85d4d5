package dashboard

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"nqueens/pkg/httpserver"
)

const token = "0123456789abcdefghijklmnop"

// Without a token, only requests whose Host is this machine are answered: a name of somebody else that
// leads here is refused (DNS rebinding).
func TestHosts(t *testing.T) {
	page := New(Config{Source: Coordinator})
	page.Update(snapshot(1))
	for host, want := range map[string]int{
		"localhost": 200, "localhost:8080": 200, "LOCALHOST:1": 200, "127.0.0.1:8080": 200, "127.1.2.3": 200, "[::1]:8080": 200, "[::1]": 200,
		"evil.example": 403, "evil.example:8080": 403, "localhost.evil.example:8080": 403, "127.0.0.1.evil.example": 403, "192.0.2.1:8080": 403,
		"": 403, "localhost:8080:8080": 403, "[::2]:1": 403, "0.0.0.0:8080": 403,
	} {
		asked := request("/api/v1/run")
		asked.Host = host
		w := httptest.NewRecorder()
		page.ServeHTTP(w, asked)
		if w.Code != want {
			t.Errorf("Host %q: %d, want %d", host, w.Code, want)
		}
	}
}

// answer returns the answer to a request.
func (p *Page) answer(asked *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	p.ServeHTTP(w, asked)
	return w
}

// shown returns a request with a token.
func shown(token string) *http.Request {
	return request("/api/v1/run", "Authorization", "Bearer "+token)
}

// login returns a request from the form.
func login(token string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "http://any.example/login", strings.NewReader(url.Values{"token": {token}}.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return r
}

// With a token nobody without it gets anything of a run, by any path. The form for it needs no token.
func TestToken(t *testing.T) {
	page := New(Config{Source: Coordinator, Token: token})
	page.Update(snapshot(1))
	for _, path := range []string{"/api/v1/run", "/api/v1/run" + "/events", "/api/v1/run" + "/workers", "/index.html", "/", "//", "/./", "/x/../"} {
		for name, asked := range map[string]*http.Request{
			"nothing": request(path), "an empty token": request(path, "Authorization", "Bearer "), "another scheme": request(path, "Authorization", "Basic "+token),
			"the token as a cookie": request(path, "Cookie", newGuard(token).cookieName+"="+token), "a wrong cookie": request(path, "Cookie", newGuard(token).cookieName+"=0"),
			"a query": request(path + "?token=" + token),
		} {
			w := page.answer(asked)
			if w.Code != http.StatusUnauthorized || strings.Contains(w.Body.String(), ownRun) {
				t.Errorf("%s with %s: %d %s", path, name, w.Code, w.Body)
			}
		}
	}
	w := page.answer(request("/"))
	if !strings.Contains(w.Body.String(), "<form") || !strings.Contains(w.Header().Get("Content-Security-Policy"), "form-action 'self'") || w.Header().Get("Cache-Control") != "no-store" {
		t.Errorf("instead of the page: %v %s", w.Header(), w.Body)
	}
	if w := page.answer(shown(token)); w.Code != http.StatusOK {
		t.Errorf("with the token: %d %s", w.Code, w.Body)
	}
	w = page.answer(login(token))
	cookie := w.Header().Get("Set-Cookie")
	if w.Code != http.StatusSeeOther || w.Header().Get("Location") != "./" || strings.Contains(cookie, token) ||
		!strings.Contains(cookie, "HttpOnly") || !strings.Contains(cookie, "SameSite=Strict") {
		t.Fatalf("after the form: %d %v", w.Code, w.Header())
	}
	for _, path := range []string{"/", "/api/v1/run"} {
		value, _, _ := strings.Cut(cookie, ";")
		if w := page.answer(request(path, "Cookie", value)); w.Code != http.StatusOK {
			t.Errorf("%s with the cookie: %d", path, w.Code)
		}
	}
	w = page.answer(login("wrong"))
	if w.Header().Get("Location") != "./?refused" || w.Header().Get("Set-Cookie") != "" {
		t.Errorf("after a wrong token: %d %v", w.Code, w.Header())
	}
	large := login(strings.Repeat("x", 10*maxLogin))
	if w := page.answer(large); w.Header().Get("Set-Cookie") != "" {
		t.Errorf("after a large form: %d %v", w.Code, w.Header())
	}
}

// Beyond this machine, and where a file is given, a page asks for a token, which it makes in a file that
// only its owner can read. The log names the file, and not the token.
func TestHostAsksForAToken(t *testing.T) {
	ok := func() error { return nil }
	given := filepath.Join(t.TempDir(), "given.token")
	if err := os.WriteFile(given, []byte(token+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		address, file string
		asks          bool
	}{{"127.0.0.1:0", "", false}, {"localhost:0", "", false}, {"127.0.0.1:0", given, true}, {":0", "", true}, {"0.0.0.0:0", given, true}} {
		folder := filepath.Join(t.TempDir(), "runs")
		var log bytes.Buffer
		h, err := Listen(HostConfig{
			Address: c.address, TokenFile: c.file, Folder: folder, Checks: httpserver.Checks{Live: ok, Ready: ok},
			Page: Config{Source: Watch, Version: "test"},
		})
		if err != nil {
			t.Fatal(err)
		}
		h.Start(zerolog.New(&log))
		if err := h.Stop(); err != nil {
			t.Error(err)
		}
		if h.guard.required != c.asks {
			t.Errorf("%+v: it asks for a token: %v", c, h.guard.required)
		}
		h.Update(snapshot(1))
		path := filepath.Join(folder, tokenFile)
		info, err := os.Stat(path)
		if made := err == nil; made != (c.asks && c.file == "") || made && info.Mode().Perm() != 0o600 {
			t.Errorf("%+v: the file %v, error %v", c, info, err)
		}
		secret := token
		if text, err := os.ReadFile(path); err == nil {
			secret = strings.TrimSpace(string(text))
			if w := h.answer(shown(secret)); w.Code != http.StatusOK {
				t.Errorf("%+v: with the token of the file: %d", c, w.Code)
			}
			c.file = path
		}
		if strings.Contains(log.String(), secret) || c.asks != strings.Contains(log.String(), `"token":"`+c.file) || !strings.Contains(log.String(), `"page":"http://`) {
			t.Errorf("%+v: the log is %s", c, &log)
		}
	}
	for _, c := range []HostConfig{{Address: "127.0.0.1:0", TokenFile: "missing"}, {Address: "127.0.0.1:99999"}, {Address: "nowhere", Folder: t.TempDir()}} {
		c.Checks, c.Page = httpserver.Checks{Live: ok, Ready: ok}, Config{Source: Watch}
		if h, err := Listen(c); err == nil || h != nil {
			t.Errorf("%+v is no error", c)
		}
	}
}

// The log says where people open the page, and nothing of a page that nobody can open.
func TestHostSaysWhereThePageIs(t *testing.T) {
	ok := func() error { return nil }
	for url, want := range map[string]string{"": `"page":"http://127.0.0.1:`, "https://nq.example.org/": `"page":"https://nq.example.org/"`, "none": ""} {
		h, err := Listen(HostConfig{Address: "127.0.0.1:0", URL: url, Folder: t.TempDir(), Checks: httpserver.Checks{Live: ok, Ready: ok}})
		if err != nil {
			t.Fatal(err)
		}
		var log bytes.Buffer
		h.Start(zerolog.New(&log))
		if err := h.Stop(); err != nil {
			t.Error(err)
		}
		if !strings.Contains(log.String(), want) || strings.Contains(log.String(), "page") != (want != "") || !strings.Contains(log.String(), "/healthz") {
			t.Errorf("%q: the log is %s", url, &log)
		}
	}
}

// A process without metrics answers requests for them, also without the token: it says where they are.
func TestHostWithoutMetrics(t *testing.T) {
	ok := func() error { return nil }
	for _, address := range []string{"127.0.0.1:0", ":0"} {
		h, err := Listen(HostConfig{Address: address, Folder: t.TempDir(), Checks: httpserver.Checks{Live: ok, Ready: ok}, Page: Config{Source: Watch}})
		if err != nil {
			t.Fatal(err)
		}
		h.Start(zerolog.Nop())
		_, port, err := net.SplitHostPort(h.server.Address())
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.Get("http://127.0.0.1:" + port + httpserver.MetricsPath)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(response.Body)
		_ = response.Body.Close() // it was only read
		if err != nil || response.StatusCode != http.StatusNotFound || !strings.Contains(string(text), "ask the coordinator that counts the run") {
			t.Errorf("%s: %s %q (error %v)", address, response.Status, text, err)
		}
		if err := h.Stop(); err != nil {
			t.Error(err)
		}
	}
}

// Browsers send a cookie to all ports of a host. Pages with different tokens, as behind two tunnels, don't
// replace each other's.
func TestCookiesOfTwoPages(t *testing.T) {
	one, two := newGuard("first-token-of-20-letters"), newGuard("second-token-of-20-letters")
	if one.cookieName == two.cookieName || one.cookie == two.cookie {
		t.Errorf("both pages have the cookie %s", one.cookieName)
	}
	if again := newGuard("first-token-of-20-letters"); again.cookieName != one.cookieName || again.cookie != one.cookie {
		t.Error("a restart with the same token locks browsers out")
	}
}
