package main_test

import (
	"regexp"
	"testing"
)

// The table of a count lists the placed queens: its total is not that of the whole board.
func TestTableListsPlacedQueens(t *testing.T) {
	t.Parallel()
	shown, stdout := onTerminal(t, nil, "8", "--place", "0,3", "--place", "h5")
	row := regexp.MustCompile(`(?m)^placed +2 +beforehand, on 0,3 3,7\r?$`)
	if text := escapes.ReplaceAllString(shown, ""); stdout != "5\n" || !row.MatchString(text) {
		t.Errorf("stdout is %q, and shown is %q", stdout, text)
	}
}
