package durable

import "golang.org/x/sys/windows"

var kinds = []kind{
	{windows.ERROR_DISK_FULL, true, "free space on the disk"},
	{windows.ERROR_HANDLE_DISK_FULL, true, "free space on the disk"},
	{windows.ERROR_ACCESS_DENIED, false, "give this user the right to write there"},
}
