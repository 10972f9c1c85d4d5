package symmetry_test

import (
	"fmt"

	"nqueens/pkg/oracle"
	"nqueens/pkg/queens"
	"nqueens/pkg/symmetry"
)

// The numbers of solutions of all classes, times their weights, add up to the total.
func Example() {
	const n = 8
	classes, err := symmetry.Classes(n, queens.Full)
	if err != nil {
		panic(err)
	}
	var sums queens.Sums
	for _, class := range classes {
		allowed := func(row, column int) bool { return class.Board.Allow[row]>>column&1 == 1 }
		sums.Add(class.Weight, oracle.Count(n, allowed, nil))
	}
	fmt.Println(len(classes), "classes,", sums.Total(), "solutions")
	// Output: 15 classes, 92 solutions
}
