//go:build unix

package main_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// common are the fields of every line.
var common = []string{"time", "level", "message"}

// logLine has the fields of a log line by name.
type logLine map[string]any

func readLogLine(text string) (logLine, error) {
	var line logLine
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&line); err != nil {
		return nil, err
	}
	at, _ := line["time"].(string)
	if _, err := time.Parse(time.RFC3339, at); err != nil {
		return nil, err
	}
	return line, nil
}

// logEntry is the description of a line in docs/logs.md.
type logEntry struct {
	of      string // the section
	message string
	level   string
	fields  map[string]logField
}

type logField struct {
	kind   string
	always bool
}

// logPage is docs/logs.md: the lines, and two examples of one of them.
type logPage struct {
	lines         []*logEntry
	json, console string
}

// rare is the section of the lines whose fields may have any type.
const rare = "Rare lines"

// The rows of the tables of lines, and of the table of fields, whose first column may also name a line.
var (
	lineRow   = regexp.MustCompile("^\\| `([^`]+)` \\| ([a-z]+) \\| ([^|]*) \\|")
	fieldRow  = regexp.MustCompile("^\\| (`\\w+`(?:, `\\w+`)*)(?: of `([^`]+)`)? \\| ([a-z ,]+) \\| [^|]+ \\|$")
	fieldName = regexp.MustCompile("`([a-z_]+)`")
)

// readLogPage reads docs/logs.md: the tables of lines, the table of fields, and the examples.
func readLogPage(t *testing.T) logPage {
	t.Helper()
	text, err := os.ReadFile("../docs/logs.md")
	if err != nil {
		t.Fatal(err)
	}
	var page logPage
	kinds := make(map[string]string) // by field, or by line and field
	section, block := "", ""
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		if language, fence := strings.CutPrefix(line, "```"); fence {
			block = language
			continue
		}
		if heading, ok := strings.CutPrefix(line, "## "); ok {
			section = heading
		}
		row, field := lineRow.FindStringSubmatch(line), fieldRow.FindStringSubmatch(line)
		switch {
		case block == "json":
			page.json += line
		case block == "console":
			page.console += line
		case section == "Fields" && field != nil:
			ofKinds := strings.Split(field[3], ", ")
			for i, name := range fieldName.FindAllStringSubmatch(field[1], -1) {
				kinds[field[2]+"/"+name[1]] = ofKinds[i]
			}
		case row != nil:
			page.lines = append(page.lines, newLogEntry(section, row))
		}
	}
	for _, entry := range page.lines {
		for name, field := range entry.fields {
			if field.kind = cmp.Or(kinds[entry.message+"/"+name], kinds["/"+name]); entry.of == rare {
				field.kind = "any"
			}
			if field.kind == "" {
				t.Errorf("docs/logs.md: the field %s of %q is not in the table of fields", name, entry.message)
			}
			entry.fields[name] = field
		}
	}
	if len(page.lines) == 0 {
		t.Fatal("docs/logs.md describes no line")
	}
	return page
}

// newLogEntry returns the entry of a row of message, level and names of fields: a line always has those
// before the semicolon.
func newLogEntry(section string, row []string) *logEntry {
	entry := &logEntry{of: section, message: row[1], level: row[2], fields: make(map[string]logField)}
	always, conditional, _ := strings.Cut(row[3], ";")
	for _, match := range fieldName.FindAllStringSubmatch(always, -1) {
		entry.fields[match[1]] = logField{always: section != rare}
	}
	for _, match := range fieldName.FindAllStringSubmatch(conditional, -1) {
		entry.fields[match[1]] = logField{}
	}
	return entry
}

// find returns the entry of a line that a command has logged, or nil.
func (p logPage) find(command string, line logLine) *logEntry {
	sections := []string{"Lines of both", "Lines of the " + command, rare}
	for _, entry := range p.lines {
		if slices.Contains(sections, entry.of) && entry.names(line) {
			return entry
		}
	}
	return nil
}

// names reports whether the entry describes the line. An ellipsis at the end of the entry's
// message matches any text; alone it matches any message with an exit code.
func (e *logEntry) names(line logLine) bool {
	message, _ := line["message"].(string)
	if e.message == "…" {
		return line["exit"] != nil
	}
	if begin, open := strings.CutSuffix(e.message, "…"); open {
		return strings.HasPrefix(message, begin)
	}
	return message == e.message
}

// check returns an error if the line does not have the level of the page and the fields of its
// table.
func (e *logEntry) check(line logLine) error {
	if line["level"] != e.level {
		return fmt.Errorf("its level is %v, not %s", line["level"], e.level)
	}
	for name, value := range line {
		if slices.Contains(common, name) {
			continue
		}
		field, documented := e.fields[name]
		if !documented {
			return fmt.Errorf("the field %s is not in the table", name)
		}
		if !field.holds(value) {
			return fmt.Errorf("%s is %v, and should be a %s", name, value, field.kind)
		}
	}
	for name, field := range e.fields {
		if _, there := line[name]; field.always && !there {
			return fmt.Errorf("it lacks the field %s", name)
		}
	}
	return nil
}

func (f logField) holds(value any) bool {
	switch f.kind {
	case "any":
		return true
	case "text":
		_, ok := value.(string)
		return ok
	case "number":
		_, ok := value.(json.Number)
		return ok
	case "integer":
		n, ok := value.(json.Number)
		return ok && !strings.ContainsAny(n.String(), ".e")
	case "list of integers", "list of text":
		element := logField{kind: strings.TrimSuffix(strings.TrimPrefix(f.kind, "list of "), "s")}
		list, ok := value.([]any)
		return ok && !slices.ContainsFunc(list, func(v any) bool { return !element.holds(v) })
	}
	return false
}
