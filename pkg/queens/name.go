package queens

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxName bounds the names of workers, kernels, versions and owners, in bytes.
const maxName = 128

// ValidateName returns nil when name, which came from outside, can be shown to people: it has
// at most 128 bytes, and all of it is printable. It may be empty. What says whose it is.
func ValidateName(what, name string) error {
	if len(name) > maxName {
		return fmt.Errorf("%s of %d bytes, more than %d", what, len(name), maxName)
	}
	if strings.ContainsFunc(name, unprintable) {
		return fmt.Errorf("%s with characters that can't be shown: %+q", what, name)
	}
	return nil
}

// SanitizeName returns the name in a form that [CheckName] takes: at most 128 bytes of it, and
// printable.
func SanitizeName(name string) string {
	clean := Sanitize(name)
	if len(clean) <= maxName {
		return clean
	}
	end := maxName
	for !utf8.RuneStart(clean[end]) {
		end--
	}
	return clean[:end]
}

// Sanitize returns a text for a terminal, on one line, with "?" for all that would command
// the terminal rather than be shown by it: control characters, the marks that turn the
// direction of writing, the separators of lines, and what is not UTF-8.
func Sanitize(text string) string {
	return strings.Map(func(r rune) rune {
		if unprintable(r) {
			return '?'
		}
		return r
	}, text)
}

// unprintable reports whether a terminal would obey a character and not show it. A byte
// that is not UTF-8 is [utf8.RuneError] to those who go through a text.
func unprintable(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029' || r == utf8.RuneError
}
