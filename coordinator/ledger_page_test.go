//go:build unix

// These tests read an export with code written from docs/ledger.md alone: they count, hash and
// add without any code of the module.
package main_test

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"nqueens/pkg/cli/clitest"
)

// The counts and hashes of the example in docs/ledger.md are right, and its lines add up to the
// known total.
func TestLedgerExample(t *testing.T) {
	if total := recount(t, jsonLines(t, block(t, "json"))); total.String() != "10" {
		t.Errorf("the example adds up to %v, want 10", total)
	}
}

// The command prints the example, except for names, times, what is signed and who confirmed it: in JSON, and
// for one task in CSV.
func TestLedgerExampleIsTheCommands(t *testing.T) {
	data, run := countHere(t, "5", "--kernel", "generic")
	want, got := jsonLines(t, block(t, "json")), jsonLines(t, coordinator(t, "ledger", run, "--data", data))
	if len(got) != len(want) {
		t.Fatalf("%d lines, the example has %d", len(got), len(want))
	}
	for i := range got {
		if got[i].Key == "" || got[i].StatementID == 0 || got[i].Signature == "" || got[i].Statement == "" {
			t.Errorf("line %d is not signed: %+v", i, got[i])
		}
		got[i].Confirmations = nil // a task may be one of the few that a spot check takes
		got[i].Run, got[i].Worker, got[i].Seconds = want[i].Run, want[i].Worker, want[i].Seconds
		got[i].Key, got[i].StatementID, got[i].Signature, got[i].Statement = want[i].Key, want[i].StatementID, want[i].Signature, want[i].Statement
		if !reflect.DeepEqual(got[i], want[i]) {
			t.Errorf("line %d is\n%+v\nand in the example\n%+v", i, got[i], want[i])
		}
	}
	shown, printed := csvLines(t, block(t, "csv")), csvLines(t, coordinator(t, "ledger", run, "--data", data, "--csv"))
	if !slices.Equal(printed[0], shown[0]) {
		t.Errorf("headings %q, in the example %q", printed[0], shown[0])
	}
	last := printed[len(printed)-1]
	for i, heading := range shown[0] {
		if changes := slices.Contains([]string{"run", "worker", "seconds", "key", "statement_id", "signature", "statement", "confirmations"}, heading); !changes && last[i] != shown[1][i] {
			t.Errorf("%s is %q, in the example %q", heading, last[i], shown[1][i])
		}
	}
}

// Whole runs add up to the known total too, with every symmetry and with tasks of one prefix
// or many.
func TestLedgerOfARunIsCountedAgain(t *testing.T) {
	for _, args := range [][]string{
		{"8"}, {"8", "--symmetry", "mirror"}, {"8", "--symmetry", "none"}, {"8", "--depth", "8"},
	} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			t.Parallel()
			data, run := countHere(t, args...)
			export := coordinator(t, "ledger", run, "--data", data)
			if total := recount(t, jsonLines(t, export)); total.String() != "92" {
				t.Errorf("the lines add up to %v, want 92", total)
			}
			if total, err := addUp(t, export); err != nil || total != "92" {
				t.Errorf("the script adds the lines up to %q (%v), want 92", total, err)
			}
		})
	}
}

// The script of the page adds up the example, and numbers that no floating-point number holds
// exactly.
func TestLedgerScript(t *testing.T) {
	if total, err := addUp(t, block(t, "json")); err != nil || total != "10" {
		t.Errorf("the example adds up to %q (%v), want 10", total, err)
	}
	counts := []struct {
		weight int64
		count  string
	}{{8, "18446744073709551615"}, {4, "9007199254740993"}, {2, "999999999999"}, {2, "1"}, {1, "0"}, {1, "123456789123456789"}}
	var lines strings.Builder
	want := new(big.Int)
	for i, c := range counts {
		fmt.Fprintf(&lines, `{"run":"r","task":%d,"weight":%d,"count":"%s","worker":"\"weight\":7"}`+"\n", i, c.weight, c.count)
		count, _ := new(big.Int).SetString(c.count, 10)
		want.Add(want, count.Mul(count, big.NewInt(c.weight)))
	}
	if total, err := addUp(t, lines.String()); err != nil || total != want.String() {
		t.Errorf("large counts add up to %q (%v), want %v", total, err, want)
	}
}

// exported is a line of the export.
type exported struct {
	Run      string
	Task     uint64
	Hash     string
	Weight   int64
	Allow    []uint32
	Prefixes [][4]uint32
	Count    string
	Worker   string
	Kernel   string
	Attempt  int
	Seconds  float64

	Key                  string
	StatementID          uint64 `json:"statement_id"`
	Signature, Statement string
	Unadmitted           bool
	Confirmations        []any // of spot checks, if the run had any
}

// recount checks every line and the order of the ids, and returns the total.
func recount(t *testing.T, lines []exported) *big.Int {
	t.Helper()
	total := new(big.Int)
	for i, line := range lines {
		if line.Task != uint64(i) {
			t.Fatalf("task %d in line %d", line.Task, i)
		}
		var count uint64
		text := binary.LittleEndian.AppendUint64(nil, line.Task)
		text = binary.LittleEndian.AppendUint32(text, uint32(len(line.Allow)))
		for _, mask := range line.Allow {
			text = binary.LittleEndian.AppendUint32(text, mask)
		}
		for _, p := range line.Prefixes {
			count += solutions(line.Allow, int(p[0]), p[1], p[2], p[3])
			for _, number := range p {
				text = binary.LittleEndian.AppendUint32(text, number)
			}
		}
		if strconv.FormatUint(count, 10) != line.Count {
			t.Errorf("task %d has the count %s, and %d solutions", i, line.Count, count)
		}
		sum := sha256.Sum256(text)
		if hash := fmt.Sprintf("%016x", binary.LittleEndian.Uint64(sum[:])); hash != line.Hash {
			t.Errorf("task %d has the hash %s, and should have %s", i, line.Hash, hash)
		}
		weighted := new(big.Int).SetUint64(count)
		total.Add(total, weighted.Mul(weighted, big.NewInt(line.Weight)))
	}
	return total
}

func solutions(allow []uint32, row int, cols, left, right uint32) uint64 {
	n := len(allow)
	if row == n {
		return 1
	}
	var sum uint64
	for column := range n {
		q := uint32(1) << column
		if allow[row]&^(cols|left|right)&q != 0 {
			sum += solutions(allow, row+1, cols|q, (left|q)<<1&(1<<n-1), (right|q)>>1)
		}
	}
	return sum
}

// block returns the one block of that language in docs/ledger.md.
func block(t *testing.T, language string) string {
	t.Helper()
	page, err := os.ReadFile("../docs/ledger.md")
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(string(page), "\n```"+language+"\n")
	if len(parts) != 2 {
		t.Fatalf("docs/ledger.md has %d blocks of %s, not one", len(parts)-1, language)
	}
	text, _, _ := strings.Cut(parts[1], "```")
	return text
}

func jsonLines(t *testing.T, text string) []exported {
	t.Helper()
	var lines []exported
	for text := range strings.Lines(text) {
		var line exported
		decoder := json.NewDecoder(strings.NewReader(text))
		decoder.DisallowUnknownFields() // the page would have to describe them
		if err := decoder.Decode(&line); err != nil {
			t.Fatalf("line %q: %v", text, err)
		}
		lines = append(lines, line)
	}
	return lines
}

func csvLines(t *testing.T, text string) [][]string {
	t.Helper()
	lines, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil || len(lines) < 2 {
		t.Fatalf("%d lines of CSV, error %v", len(lines), err)
	}
	return lines
}

// addUp runs the script of the page.
func addUp(t *testing.T, lines string) (total string, err error) {
	t.Helper()
	script := filepath.Join(t.TempDir(), "total.awk")
	if err := os.WriteFile(script, []byte(block(t, "awk")), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "awk", "-f", script)
	cmd.Stdin = strings.NewReader(lines)
	out, err := cmd.Output()
	return strings.TrimSpace(string(out)), err
}

// countHere counts in a folder of its own, and returns it with the run's name.
func countHere(t *testing.T, args ...string) (data, run string) {
	t.Helper()
	data = t.TempDir()
	coordinator(t, append([]string{"count", "--data", data, "--workers", "1"}, args...)...)
	ledgers, err := filepath.Glob(filepath.Join(data, "*", "ledger.db"))
	if err != nil || len(ledgers) != 1 {
		t.Fatalf("%d runs, error %v", len(ledgers), err)
	}
	return data, filepath.Base(filepath.Dir(ledgers[0]))
}

// coordinator runs the command to its end and returns what it printed.
func coordinator(t *testing.T, args ...string) string {
	t.Helper()
	got := clitest.Run(t, nil, append([]string{"coordinator"}, args...)...)
	if got.Code != 0 {
		t.Fatalf("coordinator %q: exit %d\n%s", args, got.Code, got.Stderr)
	}
	return got.Stdout
}
