package durable

import "errors"

// Advice returns what a person can do about an error of a file system, so that a run can go on.
func Advice(err error) string {
	for _, k := range kinds {
		if errors.Is(err, k.err) {
			return k.advice
		}
	}
	return "check the disk"
}

// IsFull reports whether an error says that a file system has no room for more: no space, no quota,
// no inodes, or no longer file.
func IsFull(err error) bool {
	for _, k := range kinds {
		if k.full && errors.Is(err, k.err) {
			return true
		}
	}
	return false
}

// kind is a kind of error.
type kind struct {
	err    error
	full   bool
	advice string
}
