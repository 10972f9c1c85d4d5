package count

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"nqueens/pkg/kernel"
	"nqueens/pkg/queens"
)

// deleted is set for a process of these tests that deletes its program and then recounts.
const deleted = "COUNT_TEST_DELETED"

// TestMain runs the tests, or the recount if InChild started this process.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == RecountCommand {
		if err := ServeRecount(context.Background(), os.Stdin, os.Stdout); err != nil {
			_, _ = os.Stderr.WriteString(err.Error())
			os.Exit(1)
		}
		os.Exit(0)
	}
	if os.Getenv(deleted) != "" {
		image, err := OwnImage()
		path, failed := os.Executable()
		if err = errors.Join(err, failed, os.Remove(path)); err == nil {
			job := recountOf("generic", false)
			var n uint64
			n, err = job.InChild(context.Background(), image, func(error) {})
			fmt.Println(n, err)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func recountOf(k string, deeper bool) Recount {
	board := queens.FullBoard(8)
	var first []queens.Prefix
	for column := range 8 {
		first = append(first, queens.Prefix{}.Place(&board, 1<<column))
	}
	return Recount{Task: queens.ExportedTask{Board: board, Prefixes: first}, Kernel: k, Deeper: deeper}
}

func ownImage(t *testing.T) *Image {
	t.Helper()
	image, err := OwnImage()
	if err != nil {
		t.Fatal(err)
	}
	return image
}

// Every kernel of this machine recounts a task, with and without Deeper. A child process recounts
// it with kernel generic.
func TestRecountInChild(t *testing.T) {
	for _, k := range kernel.Available() {
		for _, deeper := range []bool{false, true} {
			job := recountOf(k.Name, deeper)
			if got, err := job.Run(t.Context(), new(atomic.Uint64)); got != 92 || err != nil {
				t.Errorf("%s, deeper %v: %d, %v", k.Name, deeper, got, err)
			}
		}
	}
	job := recountOf("generic", true)
	got, err := job.InChild(t.Context(), ownImage(t), func(err error) { t.Error(err) })
	if got != 92 || err != nil {
		t.Errorf("a child counts %d, %v", got, err)
	}
}

// If the child process can't count, InChild returns an error, and does not try again.
func TestChildFails(t *testing.T) {
	job := recountOf("no such kernel", false)
	if _, err := job.InChild(t.Context(), ownImage(t), func(err error) { t.Error(err) }); err == nil {
		t.Error("a child counts by no kernel")
	}
}

// rows is a counter that notes the rows of prefixes.
type rows struct {
	kernel.Counter
	seen *sync.Map
}

func (r rows) Count(
	ctx context.Context, b *queens.Board, prefixes []queens.Prefix, pulse *atomic.Uint64,
) (uint64, error) {
	for _, p := range prefixes {
		r.seen.Store(p.Row, true)
	}
	return r.Counter.Count(ctx, b, prefixes, pulse)
}

// A deeper recount searches from prefixes with one row more.
func TestDeeper(t *testing.T) {
	for _, deeper := range []bool{false, true} {
		var seen sync.Map
		k := kernel.Kernel{Name: "rows", New: func() (kernel.Counter, error) {
			c, err := kernel.Reference().New()
			return rows{c, &seen}, err
		}}
		job := recountOf("rows", deeper)
		task, err := job.Task.Search()
		if err != nil {
			t.Fatal(err)
		}
		got, err := job.search(t.Context(), &task, k, 1, new(atomic.Uint64))
		_, first := seen.Load(1)
		_, second := seen.Load(2)
		if got != 92 || err != nil || first == deeper || second != deeper {
			t.Errorf("deeper %v: %d, %v, rows 1: %v and 2: %v", deeper, got, err, first, second)
		}
	}
}

// A count by a child that ends with an error is none.
func TestChildEndsWithError(t *testing.T) {
	path := filepath.Join(t.TempDir(), "program")
	program(t, path, "#!/bin/sh\nread -r task\necho started\necho 7\nexit 3\n")
	image, err := imageOf(path)
	if err != nil {
		t.Fatal(err)
	}
	job := recountOf("generic", false)
	if n, err := job.InChild(t.Context(), image, func(err error) { t.Error(err) }); err == nil {
		t.Errorf("a child that fails counts %d", n)
	}
}

// A child ends when the process that asked has ended: its input is closed.
func TestChildWithoutParent(t *testing.T) {
	board := queens.FullBoard(20)
	job := Recount{Task: queens.ExportedTask{Board: board, Prefixes: []queens.Prefix{{}}},
		Kernel: "generic"}
	text, err := json.Marshal(&job)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	err = ServeRecount(ctx, bytes.NewReader(text), io.Discard)
	if err == nil || ctx.Err() != nil {
		t.Errorf("a child whose parent has ended goes on: %v", err)
	}
}

// A child that writes nothing for 2 minutes is ended. Each part of its output gives it 2 minutes.
func TestStalled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ended atomic.Bool
		o := output{watch: time.AfterFunc(stalled, func() { ended.Store(true) })}
		for range 3 {
			time.Sleep(stalled - time.Second)
			_, _ = o.Write([]byte("\n"))
		}
		synctest.Wait()
		early := ended.Load()
		time.Sleep(stalled + time.Second)
		synctest.Wait()
		if early || !ended.Load() {
			t.Errorf("ended while it writes: %v, afterward: %v", early, ended.Load())
		}
	})
}

// program writes a file that is run as a program.
func program(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
}

// A child that ends before it begins to search is started again, and each time the reason is said.
func TestChildStartsAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "program")
	program(t, path, "#!/bin/sh\necho no room >&2\nexit 2\n")
	image, err := imageOf(path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	job, said := recountOf("generic", false), 0
	_, err = job.InChild(ctx, image, func(err error) {
		said++
		if said == 2 {
			cancel()
		}
		if !strings.Contains(err.Error(), "no room") {
			t.Error(err)
		}
	})
	if said != 2 || !errors.Is(err, context.Canceled) {
		t.Errorf("%d attempts, then %v", said, err)
	}
}

// A child has begun when it says so, and its output is one number more.
func TestOutput(t *testing.T) {
	for text, want := range map[string]struct {
		began, ok bool
	}{
		"started\n\n\n92\n": {true, true}, "started\n": {true, false}, "92\n": {}, "": {}, "7\n92\n": {},
		"started\n92 3\n": {true, false}, "started\n-1\n": {true, false}, "started\n9z\n": {true, false},
	} {
		o := output{watch: time.NewTimer(time.Hour)}
		_, _ = o.Write([]byte(text))
		if count, began, err := o.read(); began != want.began || (err == nil) != want.ok ||
			want.ok && count != 92 {
			t.Errorf("%q: %d, %v, %v", text, count, began, err)
		}
	}
}

// copyOfTest copies this program.
func copyOfTest(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "copy")
	program(t, path, string(data))
	return path
}

// A file that was replaced or deleted judges nothing.
func TestReplaced(t *testing.T) {
	path := copyOfTest(t)
	image, err := imageOf(path)
	if err != nil {
		t.Fatal(err)
	}
	job := recountOf("generic", false)
	count := func() (uint64, error) {
		return job.InChild(t.Context(), image, func(err error) { t.Error(err) })
	}
	if n, err := count(); n != 92 || err != nil {
		t.Fatal(n, err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if n, err := count(); n != 0 || !errors.Is(err, ErrReplaced) ||
			!errors.Is(err, queens.ErrIncomplete) {
			t.Errorf("%d %v", n, err)
		}
		program(t, path, "#!/bin/sh\nread -r task\necho started\necho 7\n")
	}
}

// On Linux, the program that runs judges even if its file was deleted.
func TestDeletedProgram(t *testing.T) {
	if _, err := os.Stat(running); err != nil {
		t.Skip("this system has no " + running)
	}
	cmd := exec.Command(copyOfTest(t))
	cmd.Env = append(os.Environ(), deleted+"=1")
	out, err := cmd.CombinedOutput()
	if err != nil || strings.TrimSpace(string(out)) != "92 <nil>" {
		t.Errorf("%s %v", out, err)
	}
}
