package browser_test

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// The map has a tile for each class, with what is done of it; the arrows move among them, and the larger
// board follows.
func TestClasses(t *testing.T) {
	for _, s := range []screen{phone, desktop} {
		run := counting("a", 27, 5)
		site := newSite(t, run, "")
		p := open(t, site.url, s)
		p.awaitAll()
		if tiles := eval[int](p, `document.querySelectorAll("#classes [role=option]").length`); tiles != 97 {
			t.Errorf("%d tiles", tiles)
		}
		if inOrder := eval[int](p, `document.querySelectorAll("#classes [tabindex='0']").length`); inOrder != 1 {
			t.Errorf("the Tab key reaches %d tiles", inOrder)
		}
		p.do(chromedp.Focus(`#classes [tabindex="0"]`, chromedp.ByQuery))
		for _, c := range []struct{ key, name string }{
			{kb.Home, "Class 1"}, {kb.ArrowRight, "Class 2"}, {kb.ArrowLeft, "Class 1"}, {kb.End, "Class 97"}, {kb.ArrowRight, "Class 97"}, {kb.Home, "Class 1"},
			{kb.ArrowDown, map[screen]string{phone: "Class 9", desktop: "Class 17"}[s]}, {kb.ArrowUp, "Class 1"},
		} {
			p.press(c.key)
			p.await(`document.getElementById("class-name").textContent === "` + c.name + `" && document.activeElement.getAttribute("aria-selected") === "true"`)
		}
		p.click(`#classes [data-class="40"]`)
		p.await(`document.getElementById("class-name").textContent === "Class 41"`)
		if label := eval[string](p, `document.activeElement.getAttribute("aria-label")`); !strings.HasPrefix(label, "Class 41, ") || !strings.Contains(label, "tasks done") {
			t.Errorf("the tile is called %q", label)
		}
		// The board shows the squares that the class allows.
		want := 0
		for _, allow := range run.manifest.Classes[40].Board.Allow {
			for ; allow != 0; allow &= allow - 1 {
				want++
			}
		}
		if got := eval[float64](p, area("#class-board .sq-free")); got != float64(want) {
			t.Errorf("the board shows %v squares, the class allows %d", got, want)
		}
	}
}

// area sums up the squares of a path of bars: M..h<length>v1h-<length>z.
func area(selector string) string {
	return `[...document.querySelector("` + selector + `").getAttribute("d").matchAll(/h(\d+)v1/g)].reduce((sum, bar) => sum + Number(bar[1]), 0)`
}
