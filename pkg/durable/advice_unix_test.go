//go:build unix

package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"testing"
)

// The advice fits the kind of error: only a full disk is to be freed.
func TestAdvice(t *testing.T) {
	for _, c := range []struct {
		err    error
		full   bool
		advice string
	}{
		{syscall.ENOSPC, true, "free space"}, {syscall.EDQUOT, true, "quota"},
		{syscall.EFBIG, true, "ulimit -f"},
		{syscall.EIO, false, "has an error"}, {syscall.EROFS, false, "only be read"},
		{syscall.EMFILE, false, "open files"}, {errors.New("another"), false, "check the disk"},
	} {
		err := fmt.Errorf("wrapped: %w", &fs.PathError{Op: "write", Path: "p", Err: c.err})
		got := Advice(err)
		if IsFull(err) != c.full || !strings.Contains(got, c.advice) ||
			!c.full && strings.Contains(got, "free space") {
			t.Errorf("%v: full %v, %q", c.err, IsFull(err), got)
		}
	}
}
