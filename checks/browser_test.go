package checks

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// TestPage follows a run in Chromium from its start to its total. If NQUEENS_SCREENSHOTS names a
// folder, it writes pictures of the page there.
func TestPage(t *testing.T) {
	p := openBrowser(t)
	coordinator := start(t,
		command(t, t.TempDir(), "coordinator", "count", "17", "--workers", "1", "--http", "127.0.0.1:0"))
	coordinator.awaits("the page of the run is at ")
	url := regexp.MustCompile(`http://[^ ]*/`).FindString(coordinator.output())
	p.do(chromedp.Navigate(url))

	p.await(`document.querySelector(".big dd")?.innerText.match(/[1-9].*%/)`)
	p.looks("running")
	before := p.text("#done")
	p.await(`document.querySelector("#done").innerText.trim() !== ` + strconv.Quote(before))

	coordinator.signal(syscall.SIGSTOP)
	p.await(`!document.getElementById("silence").hidden`)
	if says := p.text("#silence"); !strings.Contains(says, "has not answered for") {
		t.Errorf("the coordinator is silent, and the page says %q", says)
	}
	p.looks("silent")
	coordinator.signal(syscall.SIGCONT)
	p.await(`document.getElementById("silence").hidden`)

	p.await(`document.querySelector(".total")`)
	if total := p.text(".total"); total != "95,815,104" {
		t.Errorf("the page shows the total %q", total)
	}
	if title := p.text("title"); !strings.Contains(title, "complete") {
		t.Errorf("the title is %q", title)
	}
	if last := coordinator.ends(); last != "95815104" {
		t.Errorf("the coordinator prints %q", last)
	}
	p.looks("complete")
}

// tab is a page in a browser. Errors that the browser reports fail the test.
type tab struct {
	*testing.T
	ctx context.Context
}

// openBrowser starts a headless Chromium with an empty page.
func openBrowser(t *testing.T) *tab {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil {
		t.Fatalf("this test needs Chromium (Debian: apt-get install chromium): %v", err)
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.NoSandbox, // Chromium has no sandbox for root
		chromedp.WSURLReadTimeout(patience))
	ctx, stop := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(stop)
	ctx, end := chromedp.NewContext(ctx)
	t.Cleanup(end)
	p := &tab{t, ctx}
	chromedp.ListenTarget(ctx, p.listen)
	// The browser runs until the context of its first call ends.
	if err := chromedp.Run(ctx, log.Enable(), emulation.SetFocusEmulationEnabled(true)); err != nil {
		t.Fatalf("starting Chromium: %v", err)
	}
	return p
}

// listen fails the test for errors that the browser reports. The browser's log includes violations
// of the content policy.
func (p *tab) listen(event any) {
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		p.Errorf("an exception in the page: %v", e.ExceptionDetails.Error())
	case *runtime.EventConsoleAPICalled:
		if e.Type != runtime.APITypeDebug {
			p.Errorf("the page writes to the console: %s", e.Args[0].Value)
		}
	case *log.EventEntryAdded:
		p.Errorf("the browser reports: %s (%s)", e.Entry.Text, e.Entry.URL)
	}
}

func (p *tab) do(actions ...chromedp.Action) {
	p.Helper()
	ctx, end := context.WithTimeout(p.ctx, patience)
	defer end()
	if err := chromedp.Run(ctx, actions...); err != nil {
		p.Fatalf("in the browser: %v", err)
	}
}

// await waits until an expression in the page is true.
func (p *tab) await(expression string) {
	p.Helper()
	eventually(p.T, "in the page: "+expression, func() (holds bool) {
		p.do(chromedp.Evaluate("Boolean("+expression+")", &holds))
		return holds
	})
}

// text returns the text that an element shows.
func (p *tab) text(selector string) (text string) {
	p.Helper()
	p.do(chromedp.Evaluate(`(e => e.innerText ?? e.text)(document.querySelector(`+
		strconv.Quote(selector)+`)).trim()`, &text))
	return text
}

// looks checks that the page fits the windows of a phone and of a computer, and that its texts have
// the contrast of WCAG AA, in light and in dark colors. It writes the pictures of TestPage.
func (p *tab) looks(state string) {
	p.Helper()
	for _, screen := range []struct {
		name, scheme  string
		width, height int64
	}{{"phone", "light", 380, 800}, {"wide", "light", 1440, 900}, {"dark", "dark", 1440, 900}} {
		var wide, faint []string
		p.do(
			emulation.SetDeviceMetricsOverride(screen.width, screen.height, 1, screen.width < 500),
			emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: screen.scheme}}),
			chromedp.Evaluate(tooWide, &wide),
			chromedp.Evaluate(tooFaint, &faint),
		)
		if len(wide) > 0 || len(faint) > 0 {
			p.Errorf("%s, %s: wider than the window: %q; too little contrast: %q", state, screen.name, wide,
				faint)
		}
		if dir := os.Getenv("NQUEENS_SCREENSHOTS"); dir != "" {
			var png []byte
			p.do(chromedp.FullScreenshot(&png, 100))
			if err := os.WriteFile(filepath.Join(dir, state+"-"+screen.name+".png"), png, 0o644); err !=
				nil {
				p.Fatal(err)
			}
		}
	}
}

// tooWide lists elements that reach beyond the window's right edge.
const tooWide = `(() => {
  const width = document.documentElement.clientWidth;
  const wide = [...document.body.querySelectorAll(":not(svg *)")].filter(e => {
    const box = e.getBoundingClientRect();
    return box.width > 1 && box.right > width + 0.5 && !e.closest(".unseen, #workers table");
  }).map(e => e.tagName + "#" + e.id + "." + e.getAttribute("class"));
  if (document.documentElement.scrollWidth > width) wide.push("the page scrolls sideways");
  return wide.slice(0, 5);
})()`

// tooFaint lists texts whose contrast with their background is below 4.5, or below 3 for large
// texts.
const tooFaint = `(() => {
  const parse = text => { const [r, g, b, a = 1] = text.match(/[\d.]+/g).map(Number); return [r, g, b, a]; };
  const over = (top, below) => [0, 1, 2].map(i => top[i] * top[3] + below[i] * (1 - top[3])).concat(1);
  const behind = e => {
    if (!e) return [255, 255, 255, 1];
    const color = parse(getComputedStyle(e).backgroundColor);
    return color[3] === 1 ? color : over(color, behind(e.parentElement));
  };
  const light = ([r, g, b]) => [r, g, b].map(v => v / 255).map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const faint = [];
  for (const e of document.body.querySelectorAll(":not(svg *)")) {
    const text = [...e.childNodes].filter(n => n.nodeType === 3).map(n => n.data.trim()).join("");
    if (!text || !e.checkVisibility() || e.closest(".unseen, noscript")) continue;
    const style = getComputedStyle(e), ground = behind(e);
    const [a, b] = [light(over(parse(style.color), ground)), light(ground)].sort((x, y) => y - x);
    const size = parseFloat(style.fontSize), large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    const contrast = (a + 0.05) / (b + 0.05);
    if (contrast < (large ? 3 : 4.5)) faint.push(text.slice(0, 40) + " " + contrast.toFixed(2));
  }
  return faint.slice(0, 8);
})()`
