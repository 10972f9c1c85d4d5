package dashboard

import (
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"nqueens/pkg/run"
)

// section returns the text of a section of docs/api.md.
func section(t *testing.T, heading string) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/api.md")
	if err != nil {
		t.Fatal(err)
	}
	_, found, ok := strings.Cut(string(text), "\n## "+heading+"\n")
	if !ok {
		t.Fatalf("docs/api.md has no section %s", heading)
	}
	found, _, _ = strings.Cut(found, "\n## ")
	return found
}

// fieldsOf returns the names of the fields of a JSON object, without those of other objects in it.
func fieldsOf(object reflect.Type, without ...reflect.Type) (names []string) {
	for i := range object.NumField() {
		f := object.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case slices.Contains(without, f.Type), name == "-":
		case f.Anonymous:
			names = append(names, fieldsOf(f.Type)...)
		default:
			names = append(names, name)
		}
	}
	return names
}

// docs/api.md has all fields of the objects of the API, in order, and no others.
func TestPageHasEveryField(t *testing.T) {
	rows := regexp.MustCompile("(?m)^\\| `([^`]*)` \\|")
	for _, c := range []struct {
		heading string
		object  reflect.Type
		without []reflect.Type
	}{
		{"The runs", reflect.TypeFor[runsJSON](), nil},
		{"A run", reflect.TypeFor[runJSON](), []reflect.Type{reflect.TypeFor[run.Snapshot]()}},
		{"Workers", reflect.TypeFor[workersJSON](), nil},
		{"Classes", reflect.TypeFor[classesJSON](), nil},
		{"History", reflect.TypeFor[historyJSON](), nil},
	} {
		var got []string
		for _, row := range rows.FindAllStringSubmatch(section(t, c.heading), -1) {
			got = append(got, row[1])
		}
		if want := fieldsOf(c.object, c.without...); !slices.Equal(got, want) {
			t.Errorf("%s: the page has the fields\n%v, want\n%v", c.heading, got, want)
		}
	}
}

// docs/api.md names the fields of the objects within objects, in order, and no others.
func TestPageHasEveryInnerField(t *testing.T) {
	for _, c := range []struct {
		heading, field string
		object         reflect.Type
		without        []reflect.Type
	}{
		{"A run", "open_disputes", reflect.TypeFor[disputeJSON](), nil},
		{"A run", "quarantined", reflect.TypeFor[quarantinedJSON](), nil},
		{"A run", "prefix", reflect.TypeFor[prefixJSON](), nil},
		{"Workers", "workers", reflect.TypeFor[run.Worker](), nil},
		{"Classes", "classes", reflect.TypeFor[classJSON](), nil},
		{"History", "columns", reflect.TypeFor[historyColumns](), nil},
	} {
		row := regexp.MustCompile("(?m)^\\| `" + c.field + "` \\|.*$").FindString(section(t, c.heading))
		row = regexp.MustCompile(`\[[^]]*\]\([^)]*\)`).ReplaceAllString(row, "") // links are to other objects
		var got []string
		for _, name := range regexp.MustCompile("`(\\w+)`").FindAllStringSubmatch(row, -1)[1:] {
			got = append(got, name[1])
		}
		if want := fieldsOf(c.object, c.without...); !slices.Equal(got, want) {
			t.Errorf("%s, %s: the page has the fields\n%v, want\n%v", c.heading, c.field, got, want)
		}
	}
}

// docs/api.md has the paths that are answered.
func TestPageHasEveryPath(t *testing.T) {
	text, err := os.ReadFile("../../docs/api.md")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, path := range regexp.MustCompile("(?m)^\\| `(/api[^`]*)` \\|").FindAllStringSubmatch(string(text), -1) {
		got = append(got, path[1])
	}
	page, err := New(Config{Source: Coordinator})
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range got {
		if _, pattern := page.routes.Handler(request(path)); pattern != strings.Replace(path, "RUN", "{run}", 1) {
			t.Errorf("%s is answered as %s", path, pattern)
		}
	}
	if len(got) != 6 {
		t.Errorf("docs/api.md has the paths %v", got)
	}
}
