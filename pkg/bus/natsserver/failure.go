package natsserver

import (
	"fmt"
	"strings"
	"syscall"
)

// diskErrors are the errors of the operating system with which a disk refuses to be
// written, and what they mean for the folder %s.
var diskErrors = []struct {
	errno   syscall.Errno
	meaning string
}{
	{syscall.ENOSPC, "the disk of %s is full: make room and resume"},
	{syscall.EDQUOT, "the disk quota for %s is used up: make room and resume"},
	{syscall.EROFS, "the disk of %s can't be written any more: mend it and resume"},
	{syscall.EIO, "the disk of %s fails: mend it, or move the folder to another, and resume"},
}

// lastWords are what the server (2.15) says when it has given up a stream (filestore.go
// and stream.go, setWriteErr) or all of them (jetstream.go), whatever the reason.
var lastWords = []string{"Critical write error", "critical write error", "disabling JetStream", "will be DISABLED"}

// tellsFailure reports whether a line of the server's log says that a store can't be
// written. The server turns a stream off at the first such error.
func tellsFailure(text string) bool {
	for _, disk := range diskErrors {
		if strings.Contains(text, disk.errno.Error()) {
			return true
		}
	}
	for _, words := range lastWords {
		if strings.Contains(text, words) {
			return true
		}
	}
	return false
}

// explain says what a failure means and what to do about it.
func explain(store, text string) string {
	for _, disk := range diskErrors {
		if strings.Contains(text, disk.errno.Error()) {
			return fmt.Sprintf(disk.meaning, store) + " (" + text + ")"
		}
	}
	return fmt.Sprintf("the embedded server can't write to %s: mend that and resume (%s)", store, text)
}
