package ledger_test

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"testing"

	"nqueens/pkg/ledger"
	"nqueens/pkg/run"
	"nqueens/pkg/testkit"
)

// Environment variables that make this binary another program, which the first one
// names, on the ledger in the folder of the second.
const (
	childEnv  = "NQUEENS_LEDGER_CHILD"
	folderEnv = "NQUEENS_LEDGER_FOLDER"
)

// children are the programs that this binary can be.
var children = map[string]func(folder string) error{"accept": acceptForever, "quarantine": quarantineForever}

// TestMain lets tests run this binary as another process, which they can kill or give
// its own mounts.
func TestMain(m *testing.M) {
	what, ok := os.LookupEnv(childEnv)
	if !ok {
		os.Exit(m.Run())
	}
	if err := children[what](os.Getenv(folderEnv)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// child returns a command that runs this binary as the program named.
func child(t *testing.T, what, folder string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+what, folderEnv+"="+folder)
	cmd.Stderr = t.Output()
	return cmd
}

// started starts the program named, and returns the lines that it prints.
func started(t *testing.T, what, folder string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	cmd := child(t, what, folder)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	return cmd, bufio.NewScanner(out)
}

const manyTasks = 10_000_000

// acceptForever accepts groups of results, in order of task from the first that is
// missing, and prints after each group how many are accepted.
func acceptForever(folder string) error {
	l, err := openWriter(folder)
	if errors.Is(err, fs.ErrNotExist) {
		l, err = ledger.Create(folder, header(manyTasks))
	}
	if err != nil {
		return err
	}
	for {
		batch := make([]run.Result, 1+rand.IntN(300))
		for i := range batch {
			task := l.Len() + uint64(i)
			batch[i] = result(task, task*task, 1)
		}
		if _, err := l.Accept(batch, 0, position(l.Len()+uint64(len(batch)))); err != nil {
			return err
		}
		fmt.Println(l.Len())
	}
}

// What Accept returned is in the file after SIGKILL at any moment, with its position, and
// the next process continues from there.
func TestKilled(t *testing.T) {
	rng := testkit.Rand(t)
	folder := t.TempDir()
	var last uint64
	for round := range rounds(4, 10) {
		cmd, lines := started(t, "accept", folder)
		left := 1 + rng.IntN(40)
		for lines.Scan() {
			accepted, err := strconv.ParseUint(lines.Text(), 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			last = accepted
			if left--; left == 0 {
				if err := cmd.Process.Kill(); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := cmd.Wait(); left > 0 {
			t.Fatalf("round %d: the process ended by itself: %v", round, err)
		}
		l := open(t, openWriter, folder)
		if l.Len() < last || l.Position() != position(l.Len()) || len(l.Damaged()) > 0 {
			t.Fatalf("round %d: %d results at %v, %d damaged; %d were accepted", round, l.Len(), l.Position(), len(l.Damaged()), last)
		}
		next := uint64(0)
		for r, err := range l.Range(0, math.MaxUint64) {
			if err != nil || r != result(next, next*next, 1) {
				t.Fatalf("round %d: task %d is %v (%v)", round, next, r, err)
			}
			next++
		}
		last = l.Len()
		closed(t, l)
	}
}
