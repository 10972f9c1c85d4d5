package cli

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Age is the value of a flag that takes a time in days, hours, minutes or seconds: 30d, 12h, 1d12h.
type Age time.Duration

// maxAgeDays keeps ages within [time.Duration].
const maxAgeDays = 100_000

// String returns the age as [time.Duration] does; empty for none.
func (a *Age) String() string {
	if *a == 0 {
		return ""
	}
	return time.Duration(*a).String()
}

// Type names the values in help.
func (a *Age) Type() string { return "age" }

// Set reads an age.
func (a *Age) Set(text string) error {
	var age time.Duration
	days, rest, found := strings.Cut(text, "d")
	if found {
		n, err := strconv.ParseUint(days, 10, 32)
		if err != nil || n > maxAgeDays {
			return ageError(text)
		}
		age = time.Duration(n) * 24 * time.Hour
	} else {
		rest = text
	}
	if rest != "" || !found {
		d, err := time.ParseDuration(rest)
		if err != nil || d < 0 || d > maxAgeDays*24*time.Hour {
			return ageError(text)
		}
		age += d
	}
	*a = Age(age)
	return nil
}

func ageError(text string) error {
	return fmt.Errorf("must be a time such as 30d, 12h or 90m, not %.80q", text)
}
