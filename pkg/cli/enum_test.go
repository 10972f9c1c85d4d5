package cli

import (
	"errors"
	"strings"
	"testing"
)

// The word that is nearest to what was written is what may have been meant: in whatever
// case, at most two letters away, and never with nothing left of it.
func TestDidYouMean(t *testing.T) {
	among := []string{"full", "mirror", "none"}
	for _, c := range []struct{ word, want string }{
		{"mirror", "mirror"}, {"miror", "mirror"}, {"mirorr", "mirror"}, {"MIRROR", "mirror"}, {"mirrors", "mirror"}, {"mirr", "mirror"},
		{"ful", "full"}, {"fll", "full"}, {"flul", "full"}, {"fulll", "full"}, {"nnoe", "none"}, {"n", ""}, {"no", ""}, {"non", "none"},
		{"", ""}, {"rotate", ""}, {"mir", ""}, {"xxll", "full"}, {"xxxl", ""}, {"ünone", "none"},
	} {
		want := ""
		if c.want != "" {
			want = ": did you mean " + c.want + "?"
		}
		if got := didYouMean(c.word, among); got != want {
			t.Errorf("%q: %q, want %q", c.word, got, want)
		}
	}
	if got := didYouMean("x", nil); got != "" {
		t.Errorf("of no words %q was meant", got)
	}
}

// The distance of two words is that from either to the other, and what is known of a few.
func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"", "abc", 3}, {"abc", "abc", 0}, {"abc", "acb", 1}, {"abc", "ab", 1}, {"abc", "xbc", 1},
		{"workers", "wrokers", 1}, {"workers", "wokrres", 2}, {"kitten", "sitting", 3}, {"ab", "ba", 1}, {"abcd", "badc", 2},
	} {
		if there, back := distance(c.a, c.b), distance(c.b, c.a); there != c.want || back != c.want {
			t.Errorf("%q and %q: %d and %d, want %d", c.a, c.b, there, back, c.want)
		}
	}
}

// One of the words is taken as it is written, and nothing else.
func TestEnum(t *testing.T) {
	var chosen string
	c := NewEnum(&chosen, "full", "full", "mirror", "none")
	if chosen != "full" || c.String() != "full" || c.Type() != "full|mirror|none" {
		t.Errorf("before it is given: %q, %q, %q", chosen, c.String(), c.Type())
	}
	for _, word := range []string{"mirror", "none", "full"} {
		if err := c.Set(word); err != nil || chosen != word || c.String() != word {
			t.Errorf("%s: chosen %q, %v", word, chosen, err)
		}
	}
	for _, c := range []struct{ word, says string }{
		{"rotate", `must be full, mirror or none, not "rotate"`},
		{"Mirror", `must be full, mirror or none, not "Mirror": did you mean mirror?`},
		{"", `must be full, mirror or none, not ""`},
		{"full\n", `must be full, mirror or none, not "full\n": did you mean full?`},
		{"full|none", `must be full, mirror or none, not "full|none"`},
	} {
		chosen := ""
		if err := NewEnum(&chosen, "none", "full", "mirror", "none").Set(c.word); err == nil || err.Error() != c.says || chosen != "none" {
			t.Errorf("%q: %v, chosen %q, want %s", c.word, err, chosen, c.says)
		}
	}
	err := NewEnum(&chosen, "a", "a", "b").WithScope("this machine").Set("c")
	if want := `must be a or b on this machine, not "c"`; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// A word of the command line that is no flag is held to the same.
func TestOneOf(t *testing.T) {
	if err := OneOf("SHELL", "zsh", "bash", "zsh"); err != nil {
		t.Error(err)
	}
	err := OneOf("SHELL", "bsh", "bash", "zsh")
	if want := `SHELL must be bash or zsh, not "bsh": did you mean bash?`; !errors.As(err, new(usageError)) || err.Error() != want {
		t.Errorf("%v, want the usage error %s", err, want)
	}
}

// Both ends of a range belong to it.
func TestInRange(t *testing.T) {
	for value := -1; value <= 6; value++ {
		err := CheckRange("threads", value, 1, 4)
		if inside := value >= 1 && value <= 4; inside != (err == nil) {
			t.Errorf("%d: %v", value, err)
		} else if !inside && (!errors.As(err, new(usageError)) || !strings.HasPrefix(err.Error(), "--threads must be from 1 to 4, not ")) {
			t.Errorf("%d: %v", value, err)
		}
	}
}
