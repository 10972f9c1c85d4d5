//go:build !linux

package runs_test

import (
	"os"
	"testing"
)

// asOtherUser calls f if the tests do not run as root: they take the permissions away from their own user.
func asOtherUser(t *testing.T, _ string, f func()) {
	t.Helper()
	if os.Getuid() <= 0 {
		t.Skip("needs a user who is not root")
	}
	f()
}
