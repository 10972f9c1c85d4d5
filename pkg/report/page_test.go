package report

import (
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"nqueens/pkg/estimate"
	"nqueens/pkg/ledger"
	"nqueens/pkg/run"
)

// docs/json.md and docs/estimates.md have all fields of the JSON objects, in order, and no
// others.
func TestPagesHaveEveryField(t *testing.T) {
	for _, c := range []struct {
		page, heading string
		object        any
	}{
		{"json.md", "`coordinator count` and `coordinator resume`", Result{}},
		{"json.md", "`coordinator verify`", verification{}},
		{"json.md", "Differences of a recount", run.Difference{}},
		{"json.md", "`coordinator backup` and `coordinator restore`", ledger.Contents{}},
		{"json.md", "`coordinator runs`", ListedRun{}},
		{"json.md", "`coordinator watch`", progressJSON{}},
		{"json.md", "What stands behind a total", ConfirmedBy{}},
		{"estimates.md", "For scripts", estimate.Estimate{}},
	} {
		text, err := os.ReadFile("../../docs/" + c.page)
		if err != nil {
			t.Fatal(err)
		}
		_, section, _ := strings.Cut(string(text), "\n## "+c.heading+"\n")
		section, _, _ = strings.Cut(section, "\n## ")
		var got, want []string
		if _, table, ok := strings.Cut(section, "| its field |"); ok { // the one before has values
			section = table
		}
		for _, row := range regexp.MustCompile("(?m)^\\| (`[^|]*) \\|").FindAllStringSubmatch(section, -1) {
			for _, name := range strings.Split(row[1], ", ") {
				got = append(got, strings.Trim(name, "`"))
			}
		}
		for _, field := range reflect.VisibleFields(reflect.TypeOf(c.object)) {
			if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "-" && !field.Anonymous && field.IsExported() {
				want = append(want, name)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s, %s: fields\n%v\nwant\n%v", c.page, c.heading, got, want)
		}
	}
}

// docs/json.md names the fields of the workers in a snapshot, in order, and no others.
func TestPageHasEveryFieldOfTheWorkers(t *testing.T) {
	text, err := os.ReadFile("../../docs/json.md")
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile("(?m)^\\| `crew` .*$").FindString(string(text))
	var got, want []string
	for _, name := range regexp.MustCompile("`(\\w+)`").FindAllStringSubmatch(row, -1)[1:] {
		got = append(got, name[1])
	}
	for _, field := range reflect.VisibleFields(reflect.TypeFor[Worker]()) {
		want = append(want, field.Tag.Get("json"))
	}
	if !slices.Equal(got, want) {
		t.Errorf("the page has the fields %v of a worker, want %v", got, want)
	}
}
