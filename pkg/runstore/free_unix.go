//go:build linux || darwin

package runstore

import "golang.org/x/sys/unix"

// freeBytes returns the space that is left for this user on the disk of a folder.
func freeBytes(folder string) (uint64, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(folder, &s); err != nil {
		return 0, err
	}
	return s.Bavail * uint64(s.Bsize), nil
}
