package split_test

import (
	"context"
	"fmt"

	"nqueens/pkg/queens"
	"nqueens/pkg/split"
	"nqueens/pkg/symmetry"
)

// A count is planned once. Then its index makes the tasks.
func Example() {
	classes, err := symmetry.Classes(5, queens.Mirror)
	if err != nil {
		panic(err)
	}
	manifest, index, err := split.Plan(context.Background(), 5, queens.Mirror, classes, 2)
	if err != nil {
		panic(err)
	}
	for _, task := range index.All() {
		fmt.Printf("task %d of class %d: %d prefix\n", task.ID, manifest.ClassOf(task.ID),
			len(task.Prefixes))
	}
	// Output:
	// task 0 of class 0: 1 prefix
	// task 1 of class 0: 1 prefix
	// task 2 of class 0: 1 prefix
	// task 3 of class 0: 1 prefix
	// task 4 of class 0: 1 prefix
	// task 5 of class 1: 1 prefix
}
