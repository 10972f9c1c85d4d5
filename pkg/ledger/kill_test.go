package ledger

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// If a writer is killed at any moment, the log has every result that it reported as written, and
// the next writer can add more.
func TestKilledWriter(t *testing.T) {
	const variable = "LEDGER_TEST_PATH"
	if path := os.Getenv(variable); path != "" {
		writeUntilKilled(t, path)
		return
	}
	path := filepath.Join(t.TempDir(), "n7-a", File)
	l, err := Create(path, *newHeader(t, 1))
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	for kills := range 20 {
		cmd := exec.Command(os.Args[0], "-test.run=^TestKilledWriter$")
		cmd.Env = append(os.Environ(), variable+"="+path)
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		var onDisk uint64
		lines := bufio.NewScanner(out)
		for range 1 + 7*kills {
			if !lines.Scan() {
				t.Fatal("the writer ended: ", lines.Text())
			}
			if _, err := fmt.Sscan(lines.Text(), &onDisk); err != nil {
				t.Fatal(lines.Text())
			}
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		for lines.Scan() { // what it said before it died
			_, _ = fmt.Sscan(lines.Text(), &onDisk)
		}
		_ = cmd.Wait() // it was killed
		s, notes, err := Load(path)
		if err != nil || s.Results() < onDisk || len(notes.Dropped) > 0 {
			t.Fatalf("%d results are there, %d were on disk: %+v, %v", s.Results(), onDisk, notes, err)
		}
	}
}

// writeUntilKilled appends results, and prints how many are on disk.
func writeUntilKilled(t *testing.T, path string) {
	l, s, _, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	counts := make([]uint64, s.Header().Manifest.Tasks)
	for number := s.Results(); ; {
		var records []Record
		for range 1 + number%50 {
			records = append(records, result("a", 0, counts...))
		}
		if err := l.Write(records...); err != nil {
			t.Fatal(err)
		}
		number += uint64(len(records))
		fmt.Println(number)
	}
}
