package cli

import "testing"

// The suggestion is the nearest word, at most two edits away. Case does not matter, and
// something of the word remains.
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

// The distance is symmetric, and right for some known pairs.
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
