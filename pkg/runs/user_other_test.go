//go:build !linux

package runs_test

import (
	"os"
	"testing"
)

// asOtherUser calls f. It skips the test for root, from whom no permission can be taken.
func asOtherUser(t *testing.T, _ string, f func()) {
	t.Helper()
	if os.Getuid() <= 0 {
		t.Skip("needs a user who is not root")
	}
	f()
}
