//go:build unix

package main_test

import (
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
	json    string
	console string
}

type logField struct {
	kind   string
	always bool
}

type logPage []*logEntry

// rare is the section of the lines that have neither table nor example.
const rare = "Rare lines"

// The rows of a table of fields, and of the table of the rare lines.
var (
	fieldRow = regexp.MustCompile("^\\| `(\\w+)` \\| ([a-z ]+) \\| ([^|]+) \\|")
	rareRow  = regexp.MustCompile("^\\| `([^`]+)` \\| ([a-z]+) \\| ([^|]+) \\|")
)

// readLogPage reads docs/logs.md: sections, in them the messages, and of each message the
// table of its fields and the examples; at last the table of the rare lines.
func readLogPage(t *testing.T) logPage {
	t.Helper()
	text, err := os.ReadFile("../docs/logs.md")
	if err != nil {
		t.Fatal(err)
	}
	var page logPage
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
		if heading, ok := strings.CutPrefix(line, "### "); ok {
			page = append(page, &logEntry{of: section, message: strings.Trim(heading, "`"), fields: make(map[string]logField)})
		}
		if row := rareRow.FindStringSubmatch(line); row != nil && section == rare {
			page = append(page, newRare(row))
		}
		if len(page) == 0 {
			continue
		}
		entry := page[len(page)-1]
		row := fieldRow.FindStringSubmatch(line)
		switch {
		case block == "json":
			entry.json += line
			example, err := readLogLine(line)
			if err != nil {
				t.Fatalf("the example of %q: %v", entry.message, err)
			}
			entry.level, _ = example["level"].(string)
		case block == "console":
			entry.console += line
		case row != nil && section != rare:
			entry.fields[row[1]] = logField{kind: row[2], always: row[3] == "always"}
		}
	}
	if len(page) == 0 {
		t.Fatal("docs/logs.md describes no line")
	}
	return page
}

// newRare returns the entry of a row of message, level and names of fields.
func newRare(row []string) *logEntry {
	entry := &logEntry{of: rare, message: row[1], level: row[2], fields: make(map[string]logField)}
	for _, match := range regexp.MustCompile("`(\\w+)`").FindAllStringSubmatch(row[3], -1) {
		entry.fields[match[1]] = logField{kind: "any"}
	}
	return entry
}

// find returns the entry of a line that a command has logged, or nil.
func (p logPage) find(command string, line logLine) *logEntry {
	sections := []string{"Lines of both", "Lines of the " + command, rare}
	for _, entry := range p {
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
