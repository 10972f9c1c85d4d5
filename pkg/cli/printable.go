package cli

import "nqueens/pkg/queens"

// Printable returns a text for a person's terminal, on one line, in which nothing commands
// the terminal; see [queens.Printable]. It is for what came over the network or from a
// file, before it is printed.
func Printable(text string) string { return queens.Sanitize(text) }
