//go:build !linux

package durable

import "os"

// SyncData returns when the contents and the size of a file are on disk.
func SyncData(file *os.File) error { return file.Sync() }
