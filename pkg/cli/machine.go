package cli

import (
	"bytes"
	"cmp"
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

func machineName(boot, kept string) (string, error) {
	text, err := os.ReadFile(boot)
	if err != nil {
		err = os.MkdirAll(filepath.Dir(kept), 0o700)
		if err == nil {
			err = durable.WriteNew(kept, []byte(rand.Text()+"\n"))
		}
		if err == nil || errors.Is(err, fs.ErrExist) { // from an earlier process
			text, err = os.ReadFile(kept)
		}
	}
	name := string(bytes.TrimSpace(text))
	if err = cmp.Or(err, queens.ValidateMachine(name)); err != nil {
		return "", fmt.Errorf("the name of this machine can't be kept, give one with --machine: %w", err)
	}
	return name, nil
}
