package queens_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"nqueens/pkg/queens"
)

// controlName is a name that controls the terminal: it changes the window's title and clears
// the screen. Errors show quotedControlName.
const (
	controlName       = "a\x1b]0;owned\x07\x1b[2J"
	quotedControlName = `"a\x1b]0;owned\a\x1b[2J"`
)

// texts maps texts to their sanitized forms.
var texts = map[string]string{
	"":                                     "",
	"worker zürich-3 · 76–80 s ♛":          "worker zürich-3 · 76–80 s ♛",
	controlName:                            "a?]0;owned??[2J",
	"one\ntwo\r\tthree\x00\x7f":            "one?two??three??",
	"C1: \u009b2J \u0085":                  "C1: ?2J ?",
	"bare C1 \x9b2J, half a rune \xe2\x82": "bare C1 ?2J, half a rune ??",
	"turned \u202egnp.\u202c \u2066\u2069 \u200f\u061c": "turned ?gnp.? ?? ??",
	"lines \u2028\u2029":     "lines ??",
	"no longer UTF-8 \ufffd": "no longer UTF-8 ?",
	"un\u200bseen \u2060\u00ad\ufeff\u3164\u115f\ufe0f\u2800\U000e0041": "un?seen ????????",
	"wide\u00a0\u3000": "wide??",
}

// Characters that a terminal interprets, or that nobody sees, become question marks. All others
// stay.
func TestSanitize(t *testing.T) {
	for text, want := range texts {
		if got := queens.Sanitize(text); got != want {
			t.Errorf("%+q is shown as %+q, want %+q", text, got, want)
		}
	}
}

// A name is valid if it is printable and not too long. Sanitizing a name makes it valid, and does
// not change a valid name.
func TestNames(t *testing.T) {
	for text, shown := range texts {
		if err := queens.ValidateName("a name", text); (err == nil) != (text == shown) {
			t.Errorf("%+q: %v", text, err)
		}
		if got := queens.SanitizeName(text); got != shown {
			t.Errorf("%+q is sanitized to %+q, want %+q", text, got, shown)
		}
	}
	for length, text := range map[int]string{
		127: strings.Repeat("x", 127), 128: strings.Repeat("x", 300), 126: strings.Repeat("女", 43),
	} {
		clean := queens.SanitizeName(text)
		if err := queens.ValidateName("a name", clean); err != nil || len(clean) != length ||
			!strings.HasPrefix(text, clean) {
			t.Errorf("%q is sanitized to %q, of %d bytes (%v), want %d", text, clean, len(clean), err,
				length)
		}
	}
	err := queens.ValidateName("an owner", strings.Repeat("\x00", utf8.RuneSelf))
	if err == nil || !strings.HasPrefix(err.Error(), "an owner ") ||
		strings.ContainsRune(err.Error(), 0) {
		t.Errorf("error %q, want one about an owner, without the characters themselves", err)
	}
}

// CleanHost makes a name that ValidateHost accepts, and changes no name that is valid already.
func FuzzCleanHost(f *testing.F) {
	for _, name := range []string{"", "laptop", "node-1.example.org", "a b/c", "\x1b[31m",
		strings.Repeat("é", 64)} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		clean := queens.CleanHost(name)
		if err := queens.ValidateHost(clean); err != nil {
			t.Error(err)
		}
		if isValid := queens.ValidateHost(name) == nil; isValid != (clean == name) {
			t.Errorf("%q is valid: %v, and becomes %q", name, isValid, clean)
		}
	})
}

// A name of a user or of a host has only its characters, and no more than 63 of them.
func TestUserAndHost(t *testing.T) {
	long := strings.Repeat("a", 63)
	for name, valid := range map[string][2]bool{ // as a user, as a host
		"alice-7": {true, true}, long: {true, true}, long + "a": {}, "a.b": {false, true},
		"Alice": {false, true}, "-a": {false, true}, "": {false, true}, "a b": {}, "a\x1b": {},
		"a*": {}, "é": {},
	} {
		if got := queens.ValidateUser(name) == nil; got != valid[0] {
			t.Errorf("user %q: %v", name, got)
		}
		if got := queens.ValidateHost(name) == nil; got != valid[1] {
			t.Errorf("host %q: %v", name, got)
		}
	}
}
