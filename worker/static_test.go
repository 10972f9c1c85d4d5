package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// Without the tag opencl both commands are static on Linux: they link no package that needs a C library
// at run time, and so start in an empty image.
func TestCommandsAreStatic(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("go", "list", "-deps", "nqueens/worker", "nqueens/coordinator")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOFLAGS=")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range strings.Fields(string(out)) {
		if name == "runtime/cgo" || strings.Contains(name, "purego") {
			t.Errorf("the commands link %s", name)
		}
	}
}
