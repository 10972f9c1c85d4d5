package ledger

import "math/bits"

const (
	// baseSize and taskSize are what the pages of a ledger take, in bytes: those
	// without a task, and more for each task, signed in a chunk of 32 or more.
	baseSize, taskSize = 59_000, 105
	// minSize is the size of a new file, in bytes. Files double up to allocSize; from
	// there on they grow by allocSize.
	minSize = 1 << 16
)

// ExpectedSize returns the approximate size of a ledger's file, in bytes, once that many
// tasks are accepted.
func ExpectedSize(tasks uint64) uint64 {
	pages := baseSize + taskSize*tasks
	if pages > allocSize {
		return pages + allocSize
	}
	return max(minSize, uint64(1)<<bits.Len64(pages-1))
}
