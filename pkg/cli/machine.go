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
	"strings"

	"nqueens/pkg/durable"
	"nqueens/pkg/queens"
)

// bootID is where Linux says which boot of a kernel this is: all containers of a host have one.
const bootID = "/proc/sys/kernel/random/boot_id"

// MachineName returns the name of what can be wrong as one: the given one, in which dots, as of nodes of Kubernetes, become
// dashes; or else on Linux the boot id of the kernel, elsewhere a random name that is kept in the user's state folder.
func MachineName(given string) (string, error) {
	if given == "" {
		state, _ := durable.StateFolder() // without one, a name can't be kept
		return machineName(bootID, state)
	}
	name := strings.ReplaceAll(given, ".", "-")
	if err := queens.ValidateMachine(name); err != nil {
		return "", Usagef("--machine: %w", err)
	}
	return name, nil
}

func machineName(boot, state string) (string, error) {
	text, err := os.ReadFile(boot)
	if err != nil && state != "" {
		kept := filepath.Join(state, "machine")
		if err = os.MkdirAll(state, 0o700); err == nil {
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
