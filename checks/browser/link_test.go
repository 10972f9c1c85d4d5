package browser_test

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"nqueens/pkg/run"
)

// While the server is away the page says since when, and keeps what it has; when the server is back, the
// page follows the run again by itself.
func TestServerAway(t *testing.T) {
	s := counting("a", 16, 5)
	site := newSite(t, s, "")
	p := open(t, site.url, phone)
	p.awaitAll()
	p.await(`document.getElementById("link-text").textContent === "live"`)
	p.allowFailures()
	site.listener.setAway(true)
	p.await(`document.getElementById("link-text").textContent.startsWith("server away since")`)
	p.await(`document.getElementById("announce").textContent.includes("does not answer")`)
	if notice := p.text("#notice"); !strings.Contains(notice, "ago") || !strings.Contains(notice, "reconnects by itself") {
		t.Errorf("the page says %q", notice)
	}
	if percent := p.text("#percent"); percent != "42.7%" {
		t.Errorf("the page forgot the run: %s", percent)
	}
	checkLook(p, "away")
	p.picture("380-light-away")
	s.snapshot.WorkDone = 0.8
	site.show(s)
	site.listener.setAway(false)
	p.await(`document.getElementById("percent").textContent === "80.0%" && document.getElementById("link-text").textContent === "live" && document.getElementById("notice").hidden`)
}

// A page whose style or script could not be loaded says so, and loads itself again when its server answers.
func TestLoadsItselfAgain(t *testing.T) {
	for file, proxied := range map[string]bool{"/main.js": true, "/feed.js": false, "/style.css": false} {
		site := newSite(t, counting("a", 16, 5), "")
		site.proxied = proxied
		site.without("/icon.svg", file)
		p := open(t, "about:blank", phone)
		p.allowFailures()
		p.do(chromedp.Navigate(site.url))
		p.await(`document.getElementById("link-text").textContent.startsWith("server away: the page")`)
		site.without()
		p.awaitAll()
		p.await(`document.getElementById("link-text").textContent === "live" && !window.reloads`)
	}
}

// After a sleep the page makes its connection anew, without waiting for the next attempt.
func TestWaking(t *testing.T) {
	s := counting("a", 16, 5)
	site := newSite(t, s, "")
	p := open(t, site.url, phone)
	p.awaitAll()
	p.allowFailures()
	site.listener.setAway(true)
	p.await(`document.getElementById("link-text").textContent.startsWith("server away")`)
	site.listener.setAway(false)
	eval[any](p, `dispatchEvent(new Event("online"))`)
	p.await(`document.getElementById("link-text").textContent === "live"`)
}

// What the coordinator or a watch says of the connection behind it is shown, and that data are old.
func TestStatus(t *testing.T) {
	s := counting("a", 16, 5)
	s.status = "its coordinator has been silent for 20s"
	site := newSite(t, s, "")
	p := open(t, site.url, phone)
	p.await(`document.getElementById("notice").textContent === "its coordinator has been silent for 20s" && document.getElementById("link-text").textContent === "old data"`)
	checkLook(p, "status")
	p.picture("380-light-status")
	s.status = ""
	site.show(s)
	p.await(`document.getElementById("notice").hidden && document.getElementById("link-text").textContent === "live"`)
}

// A run that was stopped says so, and how it continues.
func TestStopped(t *testing.T) {
	s := counting("a", 16, 5)
	site := newSite(t, s, "")
	p := open(t, site.url, phone)
	p.await(`document.getElementById("link-text").textContent === "live"`)
	s.snapshot.State = run.Stopped
	site.show(s)
	p.await(`document.getElementById("link-text").textContent === "stopped" && document.getElementById("notice").textContent.includes("coordinator resume")`)
}

// A page whose address another run takes over shows that run, and nothing of the one before.
func TestAnotherRun(t *testing.T) {
	site := newSite(t, counting("first", 16, 5), "")
	p := open(t, site.url, phone)
	p.awaitAll()
	site.show(counting("second", 20, 300))
	p.await(`document.getElementById("board-size").textContent === "n = 20"`)
	eval[any](p, `document.getElementById("workers-anchor").scrollIntoView()`)
	p.await(`document.getElementById("workers-title").textContent === "Workers: 300"`)
}

// A list for which a request fails is asked for again.
func TestListIsAskedForAgain(t *testing.T) {
	site := newSite(t, counting("a", 16, 5), "")
	site.without("/api/v1/run/classes", "/api/v1/run/history")
	p := open(t, "about:blank", phone)
	p.allowFailures()
	p.do(chromedp.Navigate(site.url))
	p.await(`document.getElementById("link-text").textContent === "live" && !document.getElementById("workers-panel").hidden`)
	site.without()
	p.awaitAll()
}

// Without the token there is only the form, which says when a token is wrong.
func TestLogin(t *testing.T) {
	site := newSite(t, counting("a", 16, 5), "the right token")
	p := open(t, "about:blank", phone)
	p.allowFailures() // 401 is one
	p.do(chromedp.Navigate(site.url))
	p.await(`document.getElementById("token") === document.activeElement`)
	checkLook(p, "login")
	p.picture("380-light-login")
	p.do(chromedp.SendKeys("#token", "a wrong token"+kb.Enter, chromedp.ByQuery))
	p.await(`document.getElementById("refused")?.textContent.includes("not the token")`)
	checkLook(p, "refused")
	p.do(chromedp.SendKeys("#token", "the right token"+kb.Enter, chromedp.ByQuery))
	p.awaitAll()
}
