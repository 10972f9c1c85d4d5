package browser_test

import (
	"encoding/json"
	"math/big"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"nqueens/pkg/humanize"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
)

// The page writes numbers, rates, times and shares as the terminal does.
func TestNumbersAreThoseOfTheTerminal(t *testing.T) {
	p := open(t, newSite(t, counting("a", 12, 1), "").url, desktop)
	var script strings.Builder
	var want []string
	add := func(call, text string) {
		script.WriteString("f." + call + ",")
		want = append(want, text)
	}
	for _, n := range []int{0, 7, 999, 1000, 12345, 100000, 1234567} {
		add("whole("+text(n)+")", humanize.Int(n))
		add("plural("+text(n)+`, "task")`, humanize.Plural(n, "task"))
	}
	big27, _ := new(big.Int).SetString("234907967154122528", 10)
	add(`whole("234907967154122528")`, humanize.Big(big27))
	for _, x := range []float64{0, -1, 0.25, 1, 9.999, 99.96, 950.4, 999.6, 2064, 206435540, 12.34e9, 5e15, 5e18, 1e300} {
		add("rate("+text(x)+")", humanize.Rate(x))
	}
	for want, x := range map[string]float64{"0": 0, "5": 5, "400": 400, "10 k": 10_000, "150 k": 150_000, "2.5 G": 2.5e9, "100 T": 100e12} {
		add("mark("+text(x)+")", want)
	}
	for want, x := range map[string]float64{"0.0%": 0, "0.001%": 0.00001, "0.1%": 0.000995, "5.0%": 0.05, "99.9%": 0.9999, "100.0%": 1} {
		add("share("+text(x)+")", want)
	}
	for _, x := range []float64{0, 0.2649, 0.5, 0.99999, 7} {
		add("percent("+text(x)+", false)", humanize.Percent(x, false))
	}
	for _, d := range []time.Duration{0, 9999 * time.Millisecond, 59 * time.Second, time.Minute, 252 * time.Second, 3 * time.Hour, 292 * time.Hour, 101 * 24 * time.Hour, 90 * 8760 * time.Hour} {
		add("clock("+text(d.Seconds())+")", humanize.Clock(d))
		for _, factor := range []int{1, 2} {
			r := run.ETA{Min: run.Seconds{Duration: d}, Max: run.Seconds{Duration: d*time.Duration(factor) + time.Second}}
			add("remaining("+text(r.Min.Seconds())+", "+text(r.Max.Seconds())+")", humanize.Remaining(r.Min.Duration, r.Max.Duration))
		}
	}
	got := eval[[]string](p, `import("./format.js").then(f => [`+script.String()+`])`)
	if !slices.Equal(got, want) {
		for i := range want {
			if i < len(got) && got[i] != want[i] {
				t.Errorf("the page writes %q, the terminal %q", got[i], want[i])
			}
		}
	}
}

func text(value any) string {
	encoded, _ := json.Marshal(value) // a number
	return string(encoded)
}

// The figures on the page are those of the API.
func TestFiguresAreThoseOfTheAPI(t *testing.T) {
	s := counting("figures", 16, 40)
	site := newSite(t, s, "")
	p := open(t, site.url, desktop)
	p.awaitAll()
	api := fetch(t, site.url+"api/v1/run")
	shown := eval[string](p, "document.querySelector('main').textContent")
	for _, want := range []string{
		"n = 16", "full symmetry", "figures", "42.7%", "running",
		humanize.Int(uint64(api["done"].(float64))) + " of " + humanize.Plural(uint64(api["tasks"].(float64)), "task") + " done",
		humanize.Rate(api["rate"].(float64)), "solutions so far100,279,844,124,731,812", "workers40", humanize.Int(int(api["threads"].(float64))), "24 idle",
		"3d2h", humanize.Remaining(s.snapshot.ETA.Min.Duration, s.snapshot.ETA.Max.Duration) + " left", "1 dead-lettered", "2 disputed", "12 republished", "the search", "5% of the tasks", "one count of each task",
		"task 117 counted 88,210,344 and 88,210,345", "its count of task 88 was outvoted", key(3),
	} {
		if !strings.Contains(shown, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	if now := eval[string](p, `document.getElementById("bar").getAttribute("aria-valuenow")`); now != "42.7" {
		t.Errorf("the progress bar is at %s", now)
	}
	p.await(`document.title.includes("42.7%") && document.querySelector("#prefix-board svg .sq-queen") && !document.getElementById("prefix-closed").hidden`)
}

func fetch(t *testing.T, url string) map[string]any {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	var object map[string]any
	if err := json.NewDecoder(response.Body).Decode(&object); err != nil {
		t.Fatal(err)
	}
	return object
}

// A run that ends while the page is open shows its total, and what stands behind it.
func TestTotal(t *testing.T) {
	for name, c := range map[string]struct {
		n           int
		total, want string
		confirmed   run.Confirmation
	}{
		"published": {16, "14772512", "confirmed by the published total (OEIS A000170)", run.Confirmation{Published: true, Redundancy: 1, Tasks: 100}},
		"redundant": {28, "1234567890123456789", "confirmed: each task by 2 keys, 3 disputes", run.Confirmation{Redundancy: 2, Tasks: 100, Checked: 100, Disputes: 3}},
		"sampled":   {28, "1234567890123456789", "confirmed by a sample: 5 of 100 tasks, 0 disputes; a rare wrong count may be unseen", run.Confirmation{Redundancy: 1, Tasks: 100, Checked: 5, Sampled: true}},
		"none":      {28, "1234567890123456789", "not independently confirmed", run.Confirmation{Redundancy: 1, Tasks: 100}},
	} {
		t.Run(name, func(t *testing.T) {
			s := counting("a", c.n, 3)
			site := newSite(t, s, "")
			p := open(t, site.url, phone)
			p.await(`document.getElementById("percent").textContent === "42.7%" && document.getElementById("total-box").hidden`)
			site.show(s.complete(c.total, c.confirmed))
			p.await(`document.getElementById("link-text").textContent === "ended"`)
			total, _ := new(big.Int).SetString(c.total, 10)
			if got := eval[string](p, `document.getElementById("total").textContent`); got != humanize.Big(total) {
				t.Errorf("the total is shown as %s", got)
			}
			if got := p.text("#confirmed"); !strings.Contains(got, c.want) {
				t.Errorf("the page says %q, want %q", got, c.want)
			}
			if got := p.text("#announce"); !strings.Contains(got, "complete") {
				t.Errorf("read out: %q", got)
			}
			if board := eval[string](p, `document.querySelector("#solution-board svg").getAttribute("aria-label")`); !strings.HasPrefix(board, strconv.Itoa(c.n)+" queens, none of which attacks another") {
				t.Errorf("the board is %q", board)
			}
			eval[any](p, `document.getElementById("workers-anchor").scrollIntoView()`)
			p.await(`[...document.querySelectorAll("td.c-state")].some(cell => cell.innerText.includes("done"))`)
			if shown := p.text("#workers"); strings.Contains(shown, "searching") || strings.Contains(shown, "/s") {
				t.Errorf("after the end, the workers are %q", shown)
			}
			checkLook(p, name)
		})
	}
}

// A contradicted run has no total.
func TestContradicted(t *testing.T) {
	s := counting("a", 16, 3)
	site := newSite(t, s, "")
	p := open(t, site.url, phone)
	p.await(`document.getElementById("percent").textContent === "42.7%"`)
	s.snapshot.State = run.Contradicted
	site.show(s)
	p.await(`document.getElementById("link-text").textContent === "ended"`)
	if got := p.text("#run-panel"); !strings.Contains(got, "no total") || !strings.Contains(got, "contradict") {
		t.Errorf("the page says %s", got)
	}
	checkLook(p, "contradicted")
	p.picture("380-light-contradicted")
}

// The squares of placed queens are named.
func TestPlacedQueens(t *testing.T) {
	s := counting("a", 16, 3)
	s.snapshot.Placed, s.snapshot.Symmetry = []queens.Square{{Row: 0, Column: 3}, {Row: 5, Column: 7}}, queens.None
	s.manifest.Placed, s.manifest.Symmetry = s.snapshot.Placed, queens.None
	p := open(t, newSite(t, s, "").url, phone)
	p.await(`document.getElementById("subtitle").textContent.includes("2 queens placed on 0,3 5,7")`)
}

// What a watch does not know is left out, not shown as 0.
func TestWatchLeavesOut(t *testing.T) {
	p := open(t, newSite(t, counting("a", 20, 1200).heard(), "").url, desktop)
	p.awaitAll()
	if hidden := eval[bool](p, `document.getElementById("checks-panel").hidden && document.getElementById("prefix-panel").hidden && document.getElementById("classes-legend").hidden`); !hidden {
		t.Error("the page shows what it does not know")
	}
	shown := p.text("main")
	for _, unknown := range []string{"quarantined", "redundancy"} {
		if strings.Contains(p.text("#run-panel"), unknown) {
			t.Errorf("the page of a watch says something of %s", unknown)
		}
	}
	for _, want := range []string{"Workers: 1,200", "944 workers are not listed", "24 idle", "3 disputes"} {
		if !strings.Contains(shown, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	if heads := eval[int](p, `document.querySelectorAll("#workers th").length`); heads != 7 {
		t.Errorf("%d columns, of which one would be tasks", heads)
	}
}

// The chart shows the last five minutes, the last hour or all, and says how many workers joined and left then.
func TestRanges(t *testing.T) {
	site := newSite(t, counting("a", 16, 40).withPast(), "")
	p := open(t, site.url, phone)
	p.awaitAll()
	for button, want := range map[string]bool{"5 min": false, "1 h": false, "all": true} {
		p.click(`#ranges [value="` + button + `"]`)
		p.await(`document.querySelector("#ranges [aria-pressed=true]").value === "` + button + `"`)
		if summary := p.text("#chart-summary"); strings.HasSuffix(summary, "18 workers joined (▲). 18 workers left (▼).") != want {
			t.Errorf("%s: %s", button, summary)
		}
	}
}
