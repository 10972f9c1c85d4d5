package ledger

import "math/bits"

const (
	// baseSize and taskSize are what a ledger's pages take, in bytes: without a task,
	// and for each.
	baseSize, taskSize = 59_000, 70
	// minSize is the size of a new file. Files double, up to growth; from there on they
	// grow by as much as that.
	minSize, allocStep = 1 << 16, 1 << 20
)

// ExpectedSize returns about how large the file of a ledger is in bytes when so many tasks
// are accepted.
func ExpectedSize(tasks uint64) uint64 {
	pages := baseSize + taskSize*tasks
	if pages > allocStep {
		return pages + allocStep
	}
	return max(minSize, uint64(1)<<bits.Len64(pages-1))
}
