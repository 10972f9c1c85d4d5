//go:build !linux

package durable

import "os"

// SyncData waits until the contents and the size of a file are on disk.
func SyncData(file *os.File) error { return file.Sync() }
