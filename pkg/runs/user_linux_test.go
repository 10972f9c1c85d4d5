package runs_test

import (
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
)

// asOtherUser calls f with the file permissions of a user who is not root. It changes the user of
// this thread only, and lets other users pass through the folder and the folders above it.
func asOtherUser(t *testing.T, folder string, f func()) {
	t.Helper()
	if os.Getuid() != 0 {
		f() // the tests take the permissions away from their own user
		return
	}
	for ; folder != filepath.Dir(os.TempDir()) && folder != "/"; folder = filepath.Dir(folder) {
		if info, err := os.Stat(folder); err == nil {
			_ = os.Chmod(folder, info.Mode().Perm()|0o011)
		}
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	const nobody = 65534
	if _, _, errno := syscall.RawSyscall(syscall.SYS_SETFSUID, nobody, 0, 0); errno != 0 {
		t.Fatal(errno)
	}
	defer func() { _, _, _ = syscall.RawSyscall(syscall.SYS_SETFSUID, 0, 0, 0) }()
	f()
}
