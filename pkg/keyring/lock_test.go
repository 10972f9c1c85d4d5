package keyring

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"nqueens/pkg/bus"
)

// A process that changes the ring waits for another, but not for one that was suspended.
func TestLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		ring, _, err := Init(dir, Options{})
		if err != nil {
			t.Fatal(err)
		}
		unlock, err := ring.lock()
		if err != nil {
			t.Fatal(err)
		}
		const name = "lab"
		if _, err := ring.Add(bus.Worker, name, ""); err == nil || !strings.Contains(err.Error(), "another process has locked the folder") {
			t.Errorf("error %v of a folder that is locked", err)
		}
		time.AfterFunc(lockWait/2, unlock)
		if _, err := ring.Add(bus.Worker, name, ""); err != nil {
			t.Error(err)
		}
	})
}
