package run

import (
	"fmt"
	"strconv"
	"strings"
)

// SpotCheck says which share of the tasks of a run is counted again, by another key or else by the coordinator.
type SpotCheck struct {
	Share float64 `json:"share"` // 0 to 1.
	// Bounded says that the coordinator checks what nobody else does only within bounds of its time. Otherwise it
	// makes each check, however long that takes.
	Bounded bool `json:"bounded,omitempty"`
}

// AutoSpotCheck is the spot check of a run that asks for no share: 1% within the bounds.
var AutoSpotCheck = SpotCheck{Share: 0.01, Bounded: true}

// auto is the text of every bounded spot check; people get none but AutoSpotCheck.
const auto = "auto"

// ParseSpotCheck parses auto, or a share that is always honoured: a percentage from 0% to 100%, or a number from
// 0 up to, but not including, 1. Whether 1 is 1% or all would not be clear.
func ParseSpotCheck(text string) (SpotCheck, error) {
	if text == auto {
		return AutoSpotCheck, nil
	}
	number, percent := strings.CutSuffix(text, "%")
	share, err := strconv.ParseFloat(number, 64)
	if percent {
		share /= 100
	}
	if err != nil || !(share >= 0 && share <= 1) || !percent && share == 1 {
		return SpotCheck{}, fmt.Errorf("auto, or a share from 0%% to 100%%, such as 1%%, not %q", text)
	}
	return SpotCheck{Share: share}, nil
}

// String returns auto, or the share as a percentage of at most 12 digits.
func (s SpotCheck) String() string {
	if s.Bounded {
		return auto
	}
	return strconv.FormatFloat(100*s.Share, 'g', 12, 64) + "%"
}

// Clamped returns a spot check from outside with a share from 0 to 1.
func (s SpotCheck) Clamped() SpotCheck {
	s.Share = min(max(s.Share, 0), 1)
	return s
}
