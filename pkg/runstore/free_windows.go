package runstore

import "golang.org/x/sys/windows"

// freeBytes returns the space that is left for this user on the disk of a folder.
func freeBytes(folder string) (free uint64, err error) {
	path, err := windows.UTF16PtrFromString(folder)
	if err == nil {
		err = windows.GetDiskFreeSpaceEx(path, &free, nil, nil)
	}
	return free, err
}
