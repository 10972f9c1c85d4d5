package humanize

import (
	"regexp"
	"strings"
)

// plainWord matches words that a shell does not change.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9_@%+=:,./-]+$`)

// ShellWords joins and quotes words as a person would type them in a POSIX shell.
func ShellWords(words ...string) string {
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = word
		if !plainWord.MatchString(word) {
			quoted[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		}
	}
	return strings.Join(quoted, " ")
}
