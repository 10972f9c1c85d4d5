//go:build unix

package main

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/exec"
	"testing"

	"nqueens/pkg/testkit"
)

// A reader that closes the pipe ends solve with exit 0 and without a message.
func TestClosedPipeEndsSolveQuietly(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), testkit.Stall)
	defer cancel()
	cmd := exec.CommandContext(ctx, "coordinator", "solve", "20")
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout = write
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = write.Close() // the child's copy remains
	line, err := bufio.NewReader(read).ReadString('\n')
	if err != nil || len(line) != 21 {
		t.Errorf("first line %q, error %v, want 20 squares", line, err)
	}
	if err := read.Close(); err != nil {
		t.Fatal(err)
	}
	message, err := io.ReadAll(stderr)
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil || len(message) > 0 {
		t.Errorf("ended with %v and the message %q, want exit 0 and none", err, message)
	}
}
