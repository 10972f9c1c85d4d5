package cli

import (
	"fmt"
	"time"

	"github.com/prometheus/common/model"
)

// Age is the value of a flag that takes a time in days, hours, minutes or seconds: 30d, 12h, 1d12h.
type Age time.Duration

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
	age, err := model.ParseDuration(text)
	if err != nil {
		return fmt.Errorf("must be a time such as 30d, 12h or 90m, not %.80q", text)
	}
	*a = Age(age)
	return nil
}
