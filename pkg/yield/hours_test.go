package yield

import (
	"strings"
	"testing"
	"time"
)

// Hours contain the times of day from their first minute to the one before their last, on their days, by the clock of
// their zone. A range over midnight is of the day on which it begins.
func TestHours(t *testing.T) {
	for _, test := range []struct{ hours, inside, outside string }{ // times in UTC; 2026-11-25 is a Wednesday
		{"22:00-06:00 UTC", "25T22:00 25T23:59 25T00:00 25T05:59", "25T06:00 25T21:59"},
		{"22:00-06:00 Europe/Berlin", "25T21:00 25T04:59 26T00:00", "25T20:59 25T05:00"},
		{"9:30-17:00 UTC", "25T09:30 25T16:59", "25T09:29 25T17:00"},
		{"00:00-24:00 UTC", "25T00:00 25T23:59 26T12:00", ""},
		{"mon-fri 19:00-07:00, sat-sun 00:00-24:00 Europe/Berlin",
			"25T18:00 26T05:59 27T23:00 28T05:59 28T12:00 29T22:59", "25T17:59 26T06:00 29T23:00 30T05:59 30T06:00"},
		{"fri 22:00-06:00 UTC", "27T22:00 28T05:59", "27T05:00 28T06:00 28T22:00"},
		{"sat-mon 08:00-09:00 UTC", "28T08:30 29T08:30 30T08:30", "27T08:30 24T08:30"},
		{"SUN 20:00-24:00 UTC", "29T20:00 29T23:59", "30T00:00 28T20:00"},
		{"12:00-13:00,  18:00-20:00   America/New_York", "25T17:00 25T23:00", "25T18:00 25T22:59"},
	} {
		h, err := ParseHours(test.hours)
		if err != nil {
			t.Errorf("%s: %v", test.hours, err)
			continue
		}
		for inside, times := range map[bool]string{true: test.inside, false: test.outside} {
			for _, text := range strings.Fields(times) {
				at, err := time.Parse("2006-01-02T15:04", "2026-11-"+text)
				if err != nil {
					t.Fatal(err)
				}
				if h.Contain(at) != inside {
					t.Errorf("%s: contains %v: %v", test.hours, at, !inside)
				}
			}
		}
	}
}

// Hours follow the clock where it is set: in Berlin from 02:00 to 03:00 on 2026-03-29, and from 03:00 to
// 02:00 on 2026-10-25, both at 01:00 UTC.
func TestHoursWhereTheClockIsSet(t *testing.T) {
	for hours, want := range map[string]map[string]time.Duration{
		"22:00-06:00 Europe/Berlin": {"2026-03-28": 7 * time.Hour, "2026-10-24": 9 * time.Hour, "2026-06-01": 8 * time.Hour},
		"02:00-03:00 Europe/Berlin": {"2026-03-28": 0, "2026-10-24": 2 * time.Hour, "2026-06-01": time.Hour},
		"03:00-04:00 Europe/Berlin": {"2026-03-28": time.Hour, "2026-10-24": time.Hour, "2026-06-01": time.Hour},
	} {
		h, err := ParseHours(hours)
		if err != nil {
			t.Fatal(err)
		}
		for night, long := range want {
			noon, err := time.Parse("2006-01-02 15", night+" 12")
			if err != nil {
				t.Fatal(err)
			}
			var got time.Duration
			for at := noon; at.Sub(noon) < 23*time.Hour; at = at.Add(time.Minute) {
				if h.Contain(at) {
					got += time.Minute
				}
			}
			if got != long {
				t.Errorf("%s contain %v of the night after %s, want %v", hours, got, night, long)
			}
		}
	}
}

// Without a zone the hours are by the clock of this machine.
func TestHoursOfThisMachine(t *testing.T) {
	h, err := ParseHours("12:00-13:00")
	if err != nil {
		t.Fatal(err)
	}
	if !h.Contain(time.Date(2026, 11, 25, 12, 30, 0, 0, time.Local)) || h.Contain(time.Date(2026, 11, 25, 13, 0, 0, 0, time.Local)) {
		t.Error("the hours are not those of this machine")
	}
}

// What is no hours is an error that names the wrong part.
func TestWrongHours(t *testing.T) {
	for text, want := range map[string]string{
		"":                             `"" is no range`,
		"22:00":                        `"22:00" are no hours`,
		"22-06":                        `"22-06" are no hours`,
		"22:00-06:00,":                 `"" is no range`,
		"22:00-25:00":                  `"22:00-25:00"`,
		"24:00-06:00":                  `"24:00-06:00"`,
		"22:00-22:00":                  "00:00-24:00 is a whole day",
		"22:60-23:00":                  `"22:60-23:00"`,
		"Mon-Fry 22:00-06:00":          `"Mon-Fry" is no day`,
		"mon-tue-wed 22:00-06:00":      `"mon-tue-wed"`,
		"22:00-06:00 Europe/Bärlin":    `"Europe/Bärlin" is no time zone`,
		"22:00-06:00 Europe/Berlin, x": `"22:00-06:00" is no day`,
		"mon tue 22:00-06:00":          `is no range`,
		"22:00-06:00 ../etc/passwd":    "is no time zone",
		"Europe/Berlin":                `"Europe/Berlin" are no hours`,
	} {
		if _, err := ParseHours(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q in it", text, err, want)
		}
	}
}

// No text makes ParseHours or its hours fail.
func FuzzHours(f *testing.F) {
	f.Add("mon-fri 19:00-07:00, sat-sun 00:00-24:00 Europe/Berlin", int64(0))
	f.Fuzz(func(t *testing.T, text string, unix int64) {
		h, err := ParseHours(text)
		if err == nil {
			h.Contain(time.Unix(unix%(1<<40), 0))
		}
	})
}
