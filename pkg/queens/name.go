package queens

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxRunName is the greatest length of the name of a run, in bytes. The subjects of its messages
// and the name of its folder contain it.
const maxRunName = 64

// ValidateRun returns an error unless name can be the name of a run: 1 to 64 lower-case letters,
// digits and dashes, and no dash at the start.
func ValidateRun(name string) error {
	if name == "" || len(name) > maxRunName || name[0] == '-' || strings.Trim(name, runLetters) != "" {
		return fmt.Errorf("run name %.80q is not 1 to %d lower-case letters, digits and dashes", name,
			maxRunName)
	}
	return nil
}

// BeginsRun reports whether a person may mean a run by a text: the text is its name, or the
// beginning of its name. But n2 means a board of side 2, and so no run of a board of side 20.
func BeginsRun(run, text string) bool {
	rest, begins := strings.CutPrefix(run, text)
	digits, isSide := strings.CutPrefix(text, "n")
	if isSide && digits != "" && strings.Trim(digits, "0123456789") == "" {
		return begins && (rest == "" || rest[0] == '-')
	}
	return begins
}

// Characters of the names of runs, machines and processes.
const (
	runLetters     = "abcdefghijklmnopqrstuvwxyz0123456789-"
	machineLetters = runLetters + "ABCDEFGHIJKLMNOPQRSTUVWXYZ_"
)

// MaxHostBytes is the greatest length of the name of a host, in bytes.
const MaxHostBytes = 63

// hostLetters are the characters of the names of hosts.
const hostLetters = machineLetters + "."

// ValidateHost returns an error unless a name from outside can be the name of a host: at most 63
// letters, digits, dots, dashes and underscores. It may be empty.
func ValidateHost(name string) error {
	if len(name) > MaxHostBytes || strings.Trim(name, hostLetters) != "" {
		return fmt.Errorf("host name %.80q is not up to %d of A-Z, a-z, 0-9, ., - and _", name,
			MaxHostBytes)
	}
	return nil
}

// CleanHost cuts a name to the length that [ValidateHost] accepts, and replaces other characters
// with dashes.
func CleanHost(name string) string {
	name = strings.Map(func(r rune) rune {
		if !strings.ContainsRune(hostLetters, r) {
			return '-'
		}
		return r
	}, name)
	return name[:min(len(name), MaxHostBytes)]
}

// MaxNameBytes is the greatest length that [ValidateName] accepts, in bytes.
const MaxNameBytes = 128

// ValidateName returns an error unless a name from outside can be shown to people: it must have at
// most 128 bytes and only printable characters. It may be empty. The parameter what is the kind of
// name, such as "a kernel"; the error begins with it.
func ValidateName(what, name string) error {
	if len(name) > MaxNameBytes {
		return fmt.Errorf("%s of %d bytes, more than %d", what, len(name), MaxNameBytes)
	}
	if strings.ContainsFunc(name, unprintable) {
		return fmt.Errorf("%s with characters that can't be shown: %+q", what, name)
	}
	return nil
}

// SanitizeName sanitizes a name as [Sanitize] does and cuts it to 128 bytes, so that [ValidateName]
// accepts it.
func SanitizeName(name string) string {
	clean := Sanitize(name)
	if len(clean) <= MaxNameBytes {
		return clean
	}
	end := MaxNameBytes
	for !utf8.RuneStart(clean[end]) {
		end--
	}
	return clean[:end]
}

// Sanitize returns a text that can be shown on one line of a terminal. It replaces with "?" what a
// terminal would interpret, and what nobody would see: control and format characters, marks that
// change the writing direction, line separators, spaces other than the ASCII space, invisible
// characters, and invalid UTF-8.
func Sanitize(text string) string {
	return strings.Map(func(r rune) rune {
		if unprintable(r) {
			return '?'
		}
		return r
	}, text)
}

// unprintable reports whether a character would control a terminal, or people would not see it.
// Invalid UTF-8 decodes as [utf8.RuneError]. Some letters and marks are invisible by design, as is
// the Braille blank.
func unprintable(r rune) bool {
	return !unicode.IsPrint(r) || r == utf8.RuneError || r == '\u2800' ||
		unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}
