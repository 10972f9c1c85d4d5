package cli

import (
	"regexp"
	"strings"

	"github.com/spf13/cobra"
)

// programInExample finds the name of a program where a shell expects one: at the start of a line,
// or after a pipe.
var programInExample = regexp.MustCompile(`(?m)(?:^ +|\| )(?:coordinator|worker)\b`)

// Rename gives a program and its examples other names: the function returns the new name of
// "coordinator" and of "worker".
func Rename(root *cobra.Command, named func(program string) string) {
	name := root.Name()
	root.Use = named(name) + strings.TrimPrefix(root.Use, name)
	renameExamples(root, named)
}

func renameExamples(cmd *cobra.Command, named func(program string) string) {
	cmd.Example = programInExample.ReplaceAllStringFunc(cmd.Example, func(found string) string {
		program := strings.TrimLeft(found, " |")
		return strings.TrimSuffix(found, program) + named(program)
	})
	for _, c := range cmd.Commands() {
		renameExamples(c, named)
	}
}
