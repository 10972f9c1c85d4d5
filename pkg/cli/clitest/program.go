package clitest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Programs returns the folder that has coordinator and worker. One of them is the test
// binary, see Main; the other is built once, with the race detector if the test binary is.
func Programs(t testing.TB) string {
	t.Helper()
	folder, err := programs()
	if err != nil {
		t.Fatal(err)
	}
	return folder
}

var programs = sync.OnceValues(func() (string, error) {
	path, err := exec.LookPath(tested)
	if err != nil {
		return "", err
	}
	folder, other := filepath.Dir(path), "worker"
	if tested == other {
		other = "coordinator"
	}
	// Reading the folder makes its files inputs of this test: go test runs it again when
	// they change.
	if _, err := os.ReadDir("../" + other); err != nil {
		return "", err
	}
	// Without debugging information the linker needs two thirds of the time.
	_, err = goCommand("build", "-ldflags=-w", "-race="+fmt.Sprint(raceDetector()), "-o", folder, "nqueens/"+other)
	return folder, err
})

// program returns the path of coordinator or worker. It builds neither if the test binary is that command.
func program(t testing.TB, name string) string {
	t.Helper()
	if name != tested {
		return filepath.Join(Programs(t), name)
	}
	path, err := exec.LookPath(name)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// raceDetector reports whether this test binary was built with it.
func raceDetector() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

// NATSServer returns the path of the nats-server of go.mod, which the go command builds
// once and keeps in its cache.
func NATSServer(t testing.TB) string {
	t.Helper()
	path, err := natsServer()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

var natsServer = sync.OnceValues(func() (string, error) { return goCommand("tool", "-n", "nats-server") })

func goCommand(args ...string) (printed string, err error) {
	cmd := exec.Command("go", args...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return strings.TrimSpace(string(out)), nil
}

// Environment returns this process's environment for commands that a person runs at home
// in that folder: without settings of ours, but those given and a log in JSON.
func Environment(home string, settings ...string) []string {
	environment := slices.DeleteFunc(os.Environ(), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return strings.HasPrefix(name, "NQUEENS_") || name == "XDG_STATE_HOME" || name == "HOME" || name == "NO_COLOR"
	})
	return slices.Concat(environment,
		[]string{"HOME=" + home, "XDG_STATE_HOME=" + filepath.Join(home, "state"), "NQUEENS_LOG_FORMAT=json"}, settings)
}
