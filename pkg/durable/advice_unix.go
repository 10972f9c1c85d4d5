//go:build unix

package durable

import "syscall"

var kinds = []kind{
	{syscall.ENOSPC, true, "free space or inodes on the disk"},
	{syscall.EDQUOT, true, "the quota of this user is used up: free some of it, or have it raised"},
	{syscall.EFBIG, true, "raise the limit on the size of a file, as with ulimit -f"},
	{syscall.EROFS, false, "the file system can only be read: mount it for writing"},
	{syscall.EIO, false,
		"the disk has an error: look at the log of the system, and keep a copy of the folder"},
	{syscall.EMFILE, false, "raise the limit of open files, as with ulimit -n"},
	{syscall.EACCES, false, "give this user the right to write there"},
}
