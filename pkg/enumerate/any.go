package enumerate

import (
	"context"
	"time"

	"nqueens/pkg/queens"
)

// anyTimeout is how long [Any] looks for a solution.
const anyTimeout = 200 * time.Millisecond

// Any returns the columns of the queens of a solution that a run counts, from the top row; nil if there is none, or
// none is found at once.
func Any(ctx context.Context, m *queens.Manifest) []int {
	if len(m.Placed) == 0 {
		return Construct(m.N)
	}
	ctx, done := context.WithTimeout(ctx, anyTimeout)
	defer done()
	for i := range m.Classes {
		for columns := range Boards(ctx, m.Classes[i].Board) {
			return columns
		}
	}
	return nil
}
