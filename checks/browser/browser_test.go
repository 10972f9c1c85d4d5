// Package browser_test tests the live page of package dashboard in a real browser, a headless Chromium. What
// the API of the page answers is tested beside the API.
//
// With NQUEENS_SCREENSHOTS set to a folder, it also leaves pictures of the page there.
package browser_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// browser is the one that all tests share.
var browser context.Context

func TestMain(m *testing.M) {
	os.Exit(runAll(m))
}

func runAll(m *testing.M) int {
	path, err := exec.LookPath("chromium")
	if err != nil {
		fmt.Fprintln(os.Stderr, "the page is tested in Chromium, and there is none (Debian: apt-get install chromium):", err)
		return 1
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.NoSandbox, // as root it has none
		chromedp.WSURLReadTimeout(2*time.Minute))
	allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
	defer stop()
	var end context.CancelFunc
	browser, end = chromedp.NewContext(allocator)
	defer end()
	if err := chromedp.Run(browser); err != nil {
		fmt.Fprintln(os.Stderr, "starting Chromium:", err)
		return 1
	}
	return m.Run()
}

// patience bounds how long a test waits for what has to happen: the machine may be busy.
const patience = 2 * time.Minute

// screen is what a page is shown on.
type screen struct {
	width, height int64
	dark          bool
}

var (
	phone   = screen{width: 380, height: 800}
	desktop = screen{width: 1440, height: 900}
)

func (s screen) String() string {
	return fmt.Sprintf("%d-%s", s.width, map[bool]string{false: "light", true: "dark"}[s.dark])
}

// tab is a page in the browser. Whatever the browser reports as an error fails its test.
type tab struct {
	t   *testing.T
	ctx context.Context

	mu        sync.Mutex
	unreached bool // the test makes requests fail
}

// watchPolicy reports violations of the content policy as errors of the console.
const watchPolicy = `addEventListener("securitypolicyviolation", e => console.error("content policy:", e.violatedDirective, e.blockedURI, e.sourceFile, e.lineNumber))`

// open opens a page.
func open(t *testing.T, url string, s screen) *tab {
	t.Helper()
	ctx, end := chromedp.NewContext(browser)
	t.Cleanup(end)
	p := &tab{t: t, ctx: ctx}
	chromedp.ListenTarget(ctx, p.listen)
	if err := chromedp.Run(ctx); err != nil { // the tab lives as long as the context of its first call
		t.Fatalf("opening a tab: %v", err)
	}
	scheme := map[bool]string{false: "light", true: "dark"}[s.dark]
	p.do(
		page.BringToFront(), // a tab behind others is never drawn, and so does not know what is in sight
		log.Enable(),
		chromedp.ActionFunc(func(ctx context.Context) error {
			_, err := page.AddScriptToEvaluateOnNewDocument(watchPolicy).Do(ctx)
			return err
		}),
		emulation.SetFocusEmulationEnabled(true),
		emulation.SetDeviceMetricsOverride(s.width, s.height, 1, s.width < 500),
		emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{
			{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"},
		}),
		chromedp.Navigate(url),
	)
	return p
}

func (p *tab) listen(event any) {
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		p.t.Errorf("an exception in the page: %v", e.ExceptionDetails.Error())
	case *runtime.EventConsoleAPICalled:
		var words []string
		for _, argument := range e.Args {
			words = append(words, string(argument.Value))
		}
		p.t.Errorf("the page writes to the console: %s", strings.Join(words, " "))
	case *log.EventEntryAdded:
		if p.expectsFailures() && e.Entry.Source == log.SourceNetwork {
			return
		}
		p.t.Errorf("the browser reports: %s (%s)", e.Entry.Text, e.Entry.URL)
	}
}

// allowFailures says that requests fail from now on.
func (p *tab) allowFailures() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.unreached = true
}

func (p *tab) expectsFailures() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.unreached
}

func (p *tab) do(actions ...chromedp.Action) {
	p.t.Helper()
	ctx, end := context.WithTimeout(p.ctx, patience)
	defer end()
	if err := chromedp.Run(ctx, actions...); err != nil {
		p.t.Fatalf("in the browser: %v", err)
	}
}

// await waits until an expression in the page is true.
func (p *tab) await(expression string) {
	p.t.Helper()
	ctx, end := context.WithTimeout(p.ctx, patience)
	defer end()
	poll := chromedp.Poll(expression, nil, chromedp.WithPollingInterval(50*time.Millisecond), chromedp.WithPollingTimeout(patience))
	err := chromedp.Run(ctx, poll)
	for err != nil && ctx.Err() == nil { // the tab went to another page meanwhile
		err = chromedp.Run(ctx, poll)
	}
	if err != nil {
		p.t.Fatalf("the page never came to %s: %v\n%s", expression, err, eval[string](p, `document.body?.innerText ?? ""`))
	}
}

// eval returns the value of an expression in the page, which may be a promise.
func eval[T any](p *tab, expression string) T {
	p.t.Helper()
	var value T
	p.do(chromedp.Evaluate(expression, &value, func(e *runtime.EvaluateParams) *runtime.EvaluateParams { return e.WithAwaitPromise(true) }))
	return value
}

// text returns the text of an element, as it is shown.
func (p *tab) text(selector string) string {
	p.t.Helper()
	return eval[string](p, fmt.Sprintf("document.querySelector(%q).innerText.trim()", selector))
}

// press presses keys, such as kb.Tab.
func (p *tab) press(keys ...string) {
	p.t.Helper()
	for _, key := range keys {
		p.do(chromedp.KeyEvent(key))
	}
}

// click clicks on an element.
func (p *tab) click(selector string) {
	p.t.Helper()
	p.do(chromedp.Click(selector, chromedp.ByQuery))
}
