package natsserver

import (
	"fmt"
	"strings"
	"syscall"
)

const cannotWrite = "the embedded server can't write to %s: fix that and resume"

// failures are the phrases in the server's log that tell that a store cannot be written,
// and what they mean for the folder %s: the errors with which an operating system refuses
// to write, and what the server (2.15) says when it gives up a stream (filestore.go and
// stream.go, setWriteErr) or all of them (jetstream.go), whatever the reason. It disables
// a stream at the first such error.
var failures = []struct{ phrase, advice string }{
	{syscall.ENOSPC.Error(), "the disk of %s is full: make room and resume"},
	{syscall.EDQUOT.Error(), "the disk quota for %s is used up: make room and resume"},
	{syscall.EROFS.Error(), "the disk of %s is read-only: fix that and resume"},
	{syscall.EIO.Error(), "the disk of %s fails: repair it, or move the folder to another, and resume"},
	{"Critical write error", cannotWrite},
	{"critical write error", cannotWrite},
	{"disabling JetStream", cannotWrite},
	{"will be DISABLED", cannotWrite},
}

// failureAdvice returns what a line of the server's log means and what to do about it, if
// the line tells that a store cannot be written.
func failureAdvice(store, line string) (advice string, failed bool) {
	for _, f := range failures {
		if strings.Contains(line, f.phrase) {
			return fmt.Sprintf(f.advice+" (%s)", store, line), true
		}
	}
	return "", false
}
