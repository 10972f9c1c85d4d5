package clitest

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Flags returns the flags of commands as a table in Markdown. If root is not nil, the table also
// has the flags that all commands below root share. Hidden flags are left out, and flags that keep
// does not report. A flag that means the same in several commands has one row.
func Flags(
	keep func(*pflag.Flag) bool, root *cobra.Command, commands ...*cobra.Command,
) string {
	type row struct {
		flag, meaning string
		commands      []string
	}
	var rows []*row
	seen := make(map[string]*row)
	add := func(f *pflag.Flag, command string) {
		if f.Hidden || f.Name == "help" || f.Name == "version" || !keep(f) {
			return
		}
		name, usage := pflag.UnquoteUsage(f)
		flag := "--" + f.Name
		if f.Shorthand != "" {
			flag = "-" + f.Shorthand + ", " + flag
		}
		switch f.DefValue {
		case "", "false", "0", "0s", "[]":
		default:
			usage += " (default " + f.DefValue + ")"
		}
		r := seen[f.Name+usage]
		if r == nil {
			r = &row{flag: strings.TrimSpace(flag + " " + name),
				meaning: strings.ReplaceAll(usage, "|", `\|`)}
			rows, seen[f.Name+usage] = append(rows, r), r
		}
		r.commands = append(r.commands, command)
	}
	for _, cmd := range commands {
		if cmd.Hidden {
			continue
		}
		cmd.NonInheritedFlags().VisitAll(func(f *pflag.Flag) {
			if cmd.PersistentFlags().Lookup(f.Name) == nil {
				add(f, "`"+cmd.Name()+"`")
			}
		})
	}
	if root != nil {
		root.PersistentFlags().VisitAll(func(f *pflag.Flag) { add(f, "all") })
	}
	var b strings.Builder
	b.WriteString("| flag | of | meaning |\n|---|---|---|\n")
	for _, r := range rows {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", strings.ReplaceAll(r.flag, "|", `\|`),
			strings.Join(r.commands, ", "), r.meaning)
	}
	return b.String()
}
