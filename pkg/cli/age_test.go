package cli

import (
	"strconv"
	"strings"
	"testing"
	"time"
)

// An age has days, or what a duration has, or both, and is not negative.
func TestAge(t *testing.T) {
	const day = 24 * time.Hour
	for text, want := range map[string]time.Duration{
		"30d": 30 * day, "12h": 12 * time.Hour, "1d12h30m": day + 12*time.Hour + 30*time.Minute, "0d": 0, "0": 0, "90m": 90 * time.Minute,
	} {
		var a Age
		if err := a.Set(text); err != nil || time.Duration(a) != want {
			t.Errorf("%q is %v (%v), want %v", text, time.Duration(a), err, want)
		}
	}
	for _, text := range []string{"", "d", "30", "-1d", "-1h", "1d-1h", "1.5d", "30 d", "1dd", "99999999999d", "200000d", "3000000h", "soon"} {
		var a Age
		if err := a.Set(text); err == nil || !strings.Contains(err.Error(), strconv.Quote(text)) {
			t.Errorf("%q is %v, %v", text, time.Duration(a), err)
		}
	}
}
