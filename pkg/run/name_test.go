package run_test

import (
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"nqueens/pkg/queens"
	"nqueens/pkg/run"
)

// The name of a new run has its side and start time in UTC, and is valid.
func TestNewName(t *testing.T) {
	east := time.FixedZone("east", 9*60*60+30*60)
	for _, c := range []struct {
		n    int
		at   time.Time
		want string
	}{
		{18, time.Date(2026, 11, 20, 15, 30, 12, 0, time.UTC), "n18-20261120-153012-"},
		{1, time.Date(2026, 1, 2, 3, 4, 5, 999_999_999, time.UTC), "n1-20260102-030405-"},
		{32, time.Date(2027, 1, 1, 9, 29, 59, 0, east), "n32-20261231-235959-"},
	} {
		name := run.NewName(c.n, c.at)
		if !regexp.MustCompile("^" + c.want + "[0-9a-f]{4}$").MatchString(name) {
			t.Errorf("NewName(%d, %v) = %q, want %s and 4 hexadecimal digits", c.n, c.at, name, c.want)
		}
		if err := queens.ValidateRun(name); err != nil {
			t.Error(err)
		}
	}
}

// Runs that start in the same second get different names.
func TestNewNameIsDistinct(t *testing.T) {
	at := time.Date(2026, 11, 20, 15, 30, 12, 0, time.UTC)
	names := map[string]bool{}
	for range 20 {
		names[run.NewName(18, at)] = true
	}
	// Some of the 16-bit suffixes may be equal by chance, but hardly more than three.
	if len(names) < 17 {
		t.Errorf("20 runs have %d names", len(names))
	}
}

// A run is named by its name or by a beginning that no other run has.
func TestFindName(t *testing.T) {
	names := []string{"n8-20261120-153012-ab12", "n18-20261120-153012-ab34", "n18", "n18-20261121-153012-cd56"}
	for beginning, want := range map[string]string{
		"n8-20261120-153012-ab12": names[0], "n18": "n18", "n8": names[0], "n18-20261121": names[3], "n18-20261120-": names[1],
		"1": "", "8-2026": "", "ab12": "", "153012-ab34": "", "n9": "",
	} {
		if got, err := run.FindName(beginning, append(names, names...)); got != want || err != nil {
			t.Errorf("%q names %q (%v), want %q", beginning, got, err, want)
		}
	}
	for beginning, want := range map[string][]string{"": names, "n": names, "n1": names[1:], "n18-": {names[1], names[3]}} {
		_, err := run.FindName(beginning, append(names, names...))
		if !errors.Is(err, run.ErrAmbiguous) || !strings.Contains(err.Error(), ": "+strings.Join(want, ", ")+": ") {
			t.Errorf("%q: %v, want it to name %q", beginning, err, want)
		}
	}
	if !run.IsWholeName(run.NewName(18, time.Now())) || run.IsWholeName("n18") || run.IsWholeName(names[0]+"0") {
		t.Error("a name is not taken for a whole one, or a beginning is")
	}
}
