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
		{"json.md", "`coordinator watch`", run.Snapshot{}},
		{"json.md", "What stands behind a total", run.Confirmation{}},
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
		object := reflect.TypeOf(c.object)
		for _, field := range reflect.VisibleFields(object) {
			if object == reflect.TypeFor[ListedRun]() && len(field.Index) > 1 {
				continue // of a snapshot, which has a table of its own
			}
			if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "-" && !field.Anonymous && field.IsExported() {
				want = append(want, name)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s, %s: fields\n%v\nwant\n%v", c.page, c.heading, got, want)
		}
	}
}

// docs/json.md names the fields of the objects in a snapshot, in order, and no others.
func TestPageHasEveryInnerField(t *testing.T) {
	text, err := os.ReadFile("../../docs/json.md")
	if err != nil {
		t.Fatal(err)
	}
	for name, object := range map[string]reflect.Type{
		"states": reflect.TypeFor[run.TaskStates](), "results": reflect.TypeFor[run.ResultCounts](),
		"refused": reflect.TypeFor[run.RefusedResults](), "worker_list": reflect.TypeFor[run.Worker](),
	} {
		row := regexp.MustCompile("(?m)^\\| `" + name + "` .*$").FindString(string(text))
		var got, want []string
		for _, field := range regexp.MustCompile("`(\\w+)`").FindAllStringSubmatch(row, -1)[1:] {
			got = append(got, field[1])
		}
		for _, field := range reflect.VisibleFields(object) {
			if tag := field.Tag.Get("json"); !strings.Contains(tag, "omit") { // else it is not in a snapshot
				want = append(want, tag)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("the page has the fields %v of %s, want %v", got, name, want)
		}
	}
}
