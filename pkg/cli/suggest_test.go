package cli

import "testing"

// The suggestion begins with the word, or is at most two edits away. Case does not matter. Words of two letters
// suggest nothing, and are not suggested.
func TestDidYouMean(t *testing.T) {
	among := []string{"full", "mirror", "none", "1"}
	for _, c := range []struct{ word, want string }{
		{"mirror", "mirror"}, {"miror", "mirror"}, {"mirorr", "mirror"}, {"MIRROR", "mirror"}, {"mirrors", "mirror"}, {"mirr", "mirror"},
		{"ful", "full"}, {"fll", "full"}, {"flul", "full"}, {"fulll", "full"}, {"nnoe", "none"}, {"n", ""}, {"no", ""}, {"non", "none"}, {"3", ""},
		{"", ""}, {"rotate", ""}, {"mir", "mirror"}, {"xxll", "full"}, {"xxxl", ""}, {"ünone", "none"},
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
