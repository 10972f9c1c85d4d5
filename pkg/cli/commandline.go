package cli

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"
)

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
