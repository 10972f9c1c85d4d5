package browser_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/chromedp"

	"nqueens/pkg/run"
)

// looks are the states in which the page is looked at.
var looks = []struct {
	name string
	make func() *state
}{
	{"running", func() *state { return counting("n27-20261120-184344-22de", 27, 5).withPast() }},
	{"workers", func() *state { return counting("n24-20261120-184344-22de", 24, 5000).withPast() }},
	{"complete", func() *state {
		return counting("n27-20261120-184344-22de", 27, 12).withPast().complete("234907967154122528", run.Confirmation{Published: true, Redundancy: 1, Tasks: 59_957, Checked: 3000})
	}},
	{"watch", func() *state { return counting("n20-20261120-184344-22de", 20, 1200).withPast().heard() }},
}

// In every state, on a phone and on a desktop, light and dark, the page fits its window, its texts have
// the contrast of WCAG AA, and its controls have names.
func TestLooks(t *testing.T) {
	for _, look := range looks {
		t.Run(look.name, func(t *testing.T) {
			site := newSite(t, look.make(), "")
			for _, s := range []screen{phone, desktop} {
				for _, s.dark = range []bool{false, true} {
					p := open(t, site.url, s)
					p.awaitAll()
					checkLook(p, s.String()+" "+look.name)
					p.picture(s.String() + "-" + look.name)
					if s == phone && look.name == "running" {
						checkNames(p)
					}
				}
			}
		})
	}
}

// awaitAll waits until all parts are there.
func (p *tab) awaitAll() {
	p.t.Helper()
	p.await(`["run-panel", "workers-panel", "classes-panel", "chart-panel"].every(id => !document.getElementById(id).hidden)`)
	p.await(`document.querySelector("#workers-rows tr") && document.querySelector("#classes .tile") && document.querySelector("#chart canvas")`)
}

func checkLook(p *tab, name string) {
	p.t.Helper()
	if wide := eval[[]string](p, tooWide); len(wide) > 0 {
		p.t.Errorf("%s: wider than the window: %s", name, strings.Join(wide, "; "))
	}
	if faint := eval[[]string](p, tooFaint); len(faint) > 0 {
		p.t.Errorf("%s: too little contrast: %s", name, strings.Join(faint, "; "))
	}
}

// picture leaves a picture of the whole page.
func (p *tab) picture(name string) {
	p.t.Helper()
	dir := os.Getenv("NQUEENS_SCREENSHOTS")
	if dir == "" {
		return
	}
	var png []byte
	p.do(chromedp.FullScreenshot(&png, 100))
	if err := os.WriteFile(filepath.Join(dir, name+".png"), png, 0o644); err != nil {
		p.t.Fatal(err)
	}
}

// tooWide lists what reaches beyond the window's right edge, states of workers that are cut off, and
// numbers that break between the digits of a group.
const tooWide = `(() => {
  const width = document.documentElement.clientWidth;
  const wide = [...document.body.querySelectorAll("*")].filter(e => {
    const box = e.getBoundingClientRect();
    return box.width > 1 && box.right > width + 0.5 && !e.closest(".hidden, .skip");
  }).map(e => e.tagName + "#" + e.id + "." + e.getAttribute("class"));
  for (const cell of document.querySelectorAll("td.c-state")) if (cell.scrollWidth > cell.clientWidth) wide.push(cell.innerText);
  for (const number of document.querySelectorAll("[data-digits] dd, #total")) {
    for (const group of number.childNodes) {
      const range = document.createRange();
      range.selectNode(group);
      if (group.nodeType === 3 && range.getClientRects().length > 1) wide.push(group.data + " breaks");
    }
  }
  if (document.documentElement.scrollWidth > width) wide.push("the page scrolls sideways");
  return wide.slice(0, 5);
})()`

// tooFaint lists texts whose contrast with what is behind them is below 4.5, or 3 if they are large.
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
  for (const e of document.body.querySelectorAll("*")) {
    const text = [...e.childNodes].filter(n => n.nodeType === 3).map(n => n.data.trim()).join("");
    if (!text || !e.checkVisibility() || e.closest(".hidden, [aria-hidden=true], option, noscript")) continue;
    const style = getComputedStyle(e), ground = behind(e);
    const [a, b] = [light(over(parse(style.color), ground)), light(ground)].sort((x, y) => y - x);
    const size = parseFloat(style.fontSize), large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    const contrast = (a + 0.05) / (b + 0.05);
    if (contrast < (large ? 3 : 4.5)) faint.push(text.slice(0, 40) + " " + contrast.toFixed(2));
  }
  return faint.slice(0, 8);
})()`

// checkNames looks for controls and landmarks without a name in the accessibility tree.
func checkNames(p *tab) {
	p.t.Helper()
	var nodes []*accessibility.Node
	p.do(chromedp.ActionFunc(func(ctx context.Context) (err error) {
		nodes, err = accessibility.GetFullAXTree().Do(ctx)
		return err
	}))
	found := make(map[string]int)
	for _, node := range nodes {
		if node.Ignored || node.Role == nil {
			continue
		}
		role, name := axText(node.Role), axText(node.Name)
		found[role]++
		switch role {
		case "button", "combobox", "searchbox", "link", "progressbar", "image", "img", "table", "columnheader", "listbox", "option", "region":
			if strings.TrimSpace(name) == "" {
				p.t.Errorf("a %s without a name", role)
			}
		}
	}
	for _, role := range []string{"main", "banner", "contentinfo", "searchbox", "progressbar", "table", "row", "columnheader", "cell", "listbox", "option", "heading"} {
		if found[role] == 0 {
			p.t.Errorf("the accessibility tree has no %s; it has %v", role, found)
		}
	}
}

func axText(value *accessibility.Value) string {
	if value == nil {
		return ""
	}
	return strings.Trim(string(value.Value), `"`)
}
