package browser_test

import (
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"nqueens/pkg/run"
)

const firstNames = `[...document.querySelectorAll("#workers-rows tr")].sort((a, b) => a.ariaRowIndex - b.ariaRowIndex).map(row => row.querySelector(".c-name").innerText.trim())`

// The table of thousands of workers has few rows in the document, and says which ones they are.
func TestVirtualRows(t *testing.T) {
	for _, s := range []screen{phone, desktop} {
		p := open(t, newSite(t, counting("a", 12, 5000), "").url, s)
		p.awaitAll()
		const inDocument = `document.querySelectorAll("#workers-rows tr").length`
		if rows := eval[int](p, inDocument); rows > 60 {
			t.Errorf("%s: %d rows are in the document", s, rows)
		}
		if count := eval[string](p, `document.getElementById("workers").getAttribute("aria-rowcount")`); count != "5001" {
			t.Errorf("the table has %s rows", count)
		}
		eval[any](p, `document.getElementById("workers-scroll").scrollTo(0, 1e9)`)
		p.await(`[...document.querySelectorAll("#workers-rows tr")].some(row => row.getAttribute("aria-rowindex") === "5001")`)
		if rows := eval[int](p, inDocument); rows > 60 {
			t.Errorf("%s: %d rows are in the document at the end", s, rows)
		}
		// Each row is at the place of its index.
		if wrong := eval[int](p, `(() => {
			const rows = [...document.querySelectorAll("#workers-rows tr")], height = rows[0].offsetHeight, top = document.getElementById("workers-rows").getBoundingClientRect().top;
			return rows.filter(row => Math.abs(row.getBoundingClientRect().top - top - (row.getAttribute("aria-rowindex") - 2) * height) > 1).length;
		})()`); wrong > 0 {
			t.Errorf("%d rows are at the wrong place", wrong)
		}
	}
}

// The headings sort by the keyboard, and say how.
func TestSortByKeyboard(t *testing.T) {
	site := newSite(t, counting("a", 12, 60), "")
	p := open(t, site.url, desktop)
	p.awaitAll()
	for _, c := range []struct {
		column, order string
		sorted        func(a, b run.Worker) bool
	}{
		{"rate", "descending", func(a, b run.Worker) bool { return a.Rate >= b.Rate }},
		{"rate", "ascending", func(a, b run.Worker) bool { return a.Rate <= b.Rate }},
		{"tasks", "descending", func(a, b run.Worker) bool { return a.Tasks >= b.Tasks }},
		{"kernel", "ascending", func(a, b run.Worker) bool { return a.Kernel <= b.Kernel }},
		{"name", "ascending", func(a, b run.Worker) bool { return len(a.Name) < len(b.Name) || a.Name <= b.Name }},
	} {
		p.do(chromedp.Focus("#workers th.c-"+c.column+" button", chromedp.ByQuery))
		p.press(kb.Enter)
		p.await(`document.querySelector("#workers th.c-` + c.column + `").ariaSort === "` + c.order + `"`)
		if others := eval[int](p, `document.querySelectorAll("#workers th:not([aria-sort=none])").length`); others != 1 {
			t.Errorf("%d columns say that they are sorted by", others)
		}
		names := eval[[]string](p, firstNames)
		workers := named(site, names)
		for i := 1; i < len(workers); i++ {
			if !c.sorted(workers[i-1], workers[i]) {
				t.Errorf("by %s, %s: %s before %s", c.column, c.order, names[i-1], names[i])
			}
		}
	}
}

// named returns the workers of these names.
func named(site *site, names []string) (workers []run.Worker) {
	for _, name := range names {
		for _, w := range site.details.Load().Workers {
			if w.Name == name {
				workers = append(workers, w)
			}
		}
	}
	return workers
}

// The filter takes names and states, and the table says how many match.
func TestFilter(t *testing.T) {
	p := open(t, newSite(t, counting("a", 12, 5000), "").url, phone)
	p.awaitAll()
	p.do(chromedp.SendKeys("#filter", "quarantined node-03/", chromedp.ByQuery))
	p.await(`document.getElementById("workers-note").textContent.includes("of 5,000 workers match")`)
	if rows := eval[int](p, `[...document.querySelectorAll("#workers-rows tr")].filter(row => row.innerText.includes("✕ quarantined") && row.innerText.includes("node-03/")).length`); rows == 0 || rows != eval[int](p, `document.querySelectorAll("#workers-rows tr").length`) {
		t.Errorf("%d rows match", rows)
	}
	eval[any](p, `document.getElementById("filter").value = ""`)
	p.do(chromedp.SendKeys("#filter", "nobody", chromedp.ByQuery))
	p.await(`document.querySelectorAll("#workers-rows tr").length === 0 && document.getElementById("workers-note").textContent.startsWith("0 of")`)
}

// The page shows the name of a worker as text, also if it looks like markup.
func TestNamesAreText(t *testing.T) {
	const name = `<img src=x onerror="document.title='run'"><script>1</script>`
	s := counting(`a`, 12, 2)
	s.detail.Workers[0].Name, s.detail.Quarantined[0].Worker, s.detail.Search.Worker = name, name, name
	s.status = `<b>status</b>`
	p := open(t, newSite(t, s, "").url, desktop)
	p.awaitAll()
	p.await(`document.getElementById("quarantined").textContent.includes("<img src=x") && document.getElementById("prefix-text").textContent.includes("<img src=x") &&
		document.getElementById("workers-rows").textContent.includes("<img src=x") && document.getElementById("notice").textContent.includes("<b>status</b>")`)
	if made := eval[int](p, `document.querySelectorAll("main img, main script, b").length`); made > 0 {
		t.Errorf("the names made %d elements", made)
	}
}

// A hidden page does not ask for its workers.
func TestHiddenPageAsksForNothing(t *testing.T) {
	s := counting("a", 12, 5)
	site := newSite(t, s, "")
	p := open(t, site.url, desktop)
	p.awaitAll()
	eval[any](p, `Object.defineProperty(document, "hidden", {configurable: true, get: () => true}), document.dispatchEvent(new Event("visibilitychange"))`)
	// A request may be under way; afterwards none follow, although the run goes on.
	step := func(percent float64, shown string) {
		s.snapshot.WorkDone = run.Fraction(percent)
		site.show(s)
		p.await(`document.getElementById("percent").textContent === "` + shown + `"`)
	}
	step(0.50, "50.0%")
	before := site.asked.Load()
	step(0.55, "55.0%")
	step(0.60, "60.0%")
	step(0.65, "65.0%")
	if after := site.asked.Load(); after > before+1 {
		t.Errorf("%d requests for the workers of a page that nobody sees", after-before)
	}
	seen := site.asked.Load()
	eval[any](p, `delete document.hidden, document.dispatchEvent(new Event("visibilitychange"))`)
	step(0.70, "70.0%")
	s.detail.Workers = append(s.detail.Workers, run.Worker{Name: "new"})
	site.show(s)
	p.await(`document.getElementById("workers-rows").textContent.includes("new")`)
	if site.asked.Load() == seen {
		t.Error("the page asks for no workers when it is seen again")
	}
}

// The keyboard reaches everything, in order, and shows where it is.
func TestTabOrder(t *testing.T) {
	p := open(t, newSite(t, counting("a", 12, 5), "").url, desktop)
	p.awaitAll()
	var order []string
	for range 24 {
		p.do(input.DispatchKeyEvent(input.KeyDown).WithKey("Tab").WithCode("Tab").WithWindowsVirtualKeyCode(9))
		order = append(order, eval[string](p, `(() => { const e = document.activeElement; return e.id || e.dataset.sort || e.className.split(" ")[0] || e.tagName; })()`))
		if outline := eval[string](p, `getComputedStyle(document.activeElement).outlineStyle`); outline == "none" && order[len(order)-1] != "BODY" {
			t.Errorf("%s shows no focus", order[len(order)-1])
		}
	}
	want := []string{"skip", "SUMMARY", "filter", "workers-scroll", "name", "state", "rate", "threads", "held", "oldest", "tasks", "kernel", "tile"}
	at := 0
	for _, got := range order {
		if at < len(want) && got == want[at] {
			at++
		}
	}
	if at < len(want) {
		t.Errorf("the Tab key reaches %v, not %s in this order", order, want[at])
	}
}
