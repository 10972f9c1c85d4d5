package display

import "testing"

func TestSummary(t *testing.T) {
	got := Summary([]Line{
		{"solutions", "39,029,188,884", "matches the published value (OEIS A000170)"},
		{"time", "4m12s", ""},
		{"run", "n20\x1b[2J", "again"},
	}, false)
	want := "" +
		"solutions  39,029,188,884  matches the published value (OEIS A000170)\n" +
		"time       4m12s\n" +
		"run        n20?[2J         again\n"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got, want := Summary([]Line{{"time", "4m12s", ""}}, true), "\x1b[2mtime\x1b[0m  \x1b[1m4m12s\x1b[0m\n"; got != want {
		t.Errorf("in colors %q, want %q", got, want)
	}
}
