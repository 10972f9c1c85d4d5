package stories

import (
	"strings"
	"testing"
)

// The outputs of a story are replaced by what the player says, and everything else stays.
func TestReplay(t *testing.T) {
	echo := func(input string) string {
		if input == "silent" {
			return ""
		}
		return "heard " + input + "\n"
	}
	for _, c := range []struct{ name, text, want string }{
		{"a right story", "# why\na\nb\n----\nheard a\nheard b\n", "# why\na\nb\n----\nheard a\nheard b\n"},
		{"another output", "a\n----\nx\ny\n", "a\n----\nheard a\n"},
		{"no output yet", "a\n----", "a\n----\nheard a\n"},
		{"two blocks", "a\n----\n\nsilent\n----\nx\n", "a\n----\nheard a\n\nsilent\n----\n"},
		{"a title", "# title\n\na\n----\n", "# title\n\na\n----\nheard a\n"},
	} {
		got, err := replay(c.text, echo)
		if err != nil || got != c.want {
			t.Errorf("%s: %q (%v), want %q", c.name, got, err, c.want)
		}
	}
	if _, err := replay("a\nb\n", echo); err == nil || !strings.Contains(err.Error(), separator) {
		t.Errorf("a block without a separator: %v", err)
	}
}

// The first line that differs is named, or the numbers of lines.
func TestFirstDifference(t *testing.T) {
	if got := firstDifference("a\nb\nc", "a\nx\nc"); !strings.Contains(got, "line 2 is\nb\nand becomes\nx") {
		t.Error(got)
	}
	if got := firstDifference("a", "a\nb"); !strings.Contains(got, "has 1 lines, and then has 2") {
		t.Error(got)
	}
}
