package worker

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"nqueens/pkg/durable"
	"nqueens/pkg/queens"
)

// bootID is where Linux says which boot of a kernel this is: all containers of a host have one.
const bootID = "/proc/sys/kernel/random/boot_id"

// MachineName returns the name of what can be wrong as one: on Linux the boot id of the kernel, elsewhere a random name that
// is kept in a file below the user's folder of states.
func MachineName(state string) (string, error) {
	return machineName(bootID, filepath.Join(state, "machine"))
}

func machineName(paths ...string) (string, error) {
	for _, path := range paths {
		if text, err := os.ReadFile(path); err == nil {
			name := string(bytes.TrimSpace(text))
			return name, queens.ValidateMachine(name)
		}
	}
	path := paths[len(paths)-1]
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if err == nil {
		err = durable.WriteNew(path, []byte(rand.Text()+"\n"), 0o600)
	}
	if err != nil && !errors.Is(err, fs.ErrExist) { // another process was first
		return "", fmt.Errorf("the name of this machine can't be kept, give one with --machine: %w", err)
	}
	return machineName(path)
}

// NewProcess returns a name for a process that starts on a machine.
func NewProcess(machine string) queens.Process {
	return queens.Process{Machine: machine, Name: rand.Text()[:12]}
}
