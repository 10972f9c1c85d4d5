package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/pflag"
)

// plainWord matches what a shell takes as it is.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9_@%+=:,./-]+$`)

// Quote returns words as a person types them in a POSIX shell.
func Quote(words ...string) string {
	quoted := make([]string, len(words))
	for i, word := range words {
		if quoted[i] = word; !plainWord.MatchString(word) {
			quoted[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		}
	}
	return strings.Join(quoted, " ")
}

// Program returns the words with which this program was started.
func Program() []string { return programWords(os.Args[0]) }

// programWords returns the words that start the program of that path: what go run builds is gone when it
// ends.
func programWords(path string) []string {
	if strings.Contains(filepath.ToSlash(path), "/go-build") {
		return []string{"go", "run", "./" + strings.TrimSuffix(filepath.Base(path), ".exe")}
	}
	return []string{path}
}

// FlagWords returns the words of a command line that set a flag to a value.
func FlagWords(f *pflag.Flag, value string) []string {
	switch f.NoOptDefVal {
	case "":
		return []string{"--" + f.Name, value}
	case value:
		return []string{"--" + f.Name}
	}
	return []string{"--" + f.Name + "=" + value}
}
