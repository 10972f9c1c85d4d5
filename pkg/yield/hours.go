package yield

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // a machine may have no time zones
)

// Hours are times of the week by the clock of a time zone. Where the clock is set forward or back, they follow
// the clock: at 02:30 of a day that has it twice, both are within 02:00-03:00.
type Hours struct {
	zone   *time.Location
	ranges []hourRange
}

// hourRange is a time of some days, in minutes from the midnight at which they begin. It may end on the next day.
type hourRange struct {
	days     [7]bool // by [time.Weekday]
	from, to int
}

const minutesOfDay = 24 * 60

// ParseHours parses ranges of hours, separated by commas, each after the days for which it is if these are not all, and
// at the end the time zone if it is not that of this machine:
//
//	22:00-06:00
//	mon-fri 19:00-07:00, sat-sun 00:00-24:00 Europe/Berlin
//
// A range that ends before it begins ends on the next day: that of fri ends on Saturday.
func ParseHours(text string) (*Hours, error) {
	h := &Hours{zone: time.Local}
	parts := strings.Split(text, ",")
	for i, part := range parts {
		words := strings.Fields(part)
		if last := len(words) - 1; i == len(parts)-1 && last > 0 && !strings.Contains(words[last], ":") {
			zone, err := time.LoadLocation(words[last])
			if err != nil {
				return nil, fmt.Errorf("%q is no time zone such as Europe/Berlin", words[last])
			}
			h.zone, words = zone, words[:last]
		}
		if len(words) == 0 || len(words) > 2 {
			return nil, fmt.Errorf("%q is no range such as 22:00-06:00 or mon-fri 19:00-07:00", strings.TrimSpace(part))
		}
		var r hourRange
		var err error
		days, times := "sun-sat", words[len(words)-1]
		if len(words) == 2 {
			days = words[0]
		}
		if r.days, err = parseDays(days); err == nil {
			r.from, r.to, err = parseTimes(times)
		}
		if err != nil {
			return nil, err
		}
		h.ranges = append(h.ranges, r)
	}
	return h, nil
}

var weekdays = []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}

// parseDays parses a day or the first and the last of several.
func parseDays(text string) (days [7]bool, err error) {
	firstName, lastName, several := strings.Cut(strings.ToLower(text), "-")
	first, last := slices.Index(weekdays, firstName), slices.Index(weekdays, lastName)
	if !several {
		last = first
	}
	if first < 0 || last < 0 {
		return days, fmt.Errorf("%q is no day such as mon, and no days such as mon-fri", text)
	}
	for day := first; ; day = (day + 1) % 7 {
		if days[day] = true; day == last {
			return days, nil
		}
	}
}

// parseTimes parses two times, and returns them in minutes; the second one is after the first.
func parseTimes(text string) (from, to int, err error) {
	first, last, _ := strings.Cut(text, "-")
	from, err = parseTime(first)
	to, err2 := parseTime(last)
	switch {
	case err != nil || err2 != nil || from == minutesOfDay:
		return 0, 0, fmt.Errorf("%q are no hours such as 22:00-06:00", text)
	case from == to:
		return 0, 0, errors.New("a range ends when it begins: 00:00-24:00 is a whole day")
	case to < from:
		to += minutesOfDay
	}
	return from, to, nil
}

func parseTime(text string) (minutes int, err error) {
	if text == "24:00" {
		return minutesOfDay, nil
	}
	t, err := time.Parse("15:04", text)
	return minuteOf(t), err
}

func minuteOf(t time.Time) int { return t.Hour()*60 + t.Minute() }

// Contain reports whether a time is within the hours.
func (h *Hours) Contain(t time.Time) bool {
	t = t.In(h.zone)
	today, minute := t.Weekday(), minuteOf(t)
	return slices.ContainsFunc(h.ranges, func(r hourRange) bool {
		return r.days[today] && r.from <= minute && minute < r.to || r.days[(today+6)%7] && minute+minutesOfDay < r.to
	})
}
