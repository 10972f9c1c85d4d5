package run_test

import (
	"regexp"
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
