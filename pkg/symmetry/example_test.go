package symmetry_test

import (
	"fmt"

	"nqueens/pkg/oracle"
	"nqueens/pkg/queens"
	"nqueens/pkg/symmetry"
)

// Weighted and added up, the solutions of all classes are the total.
func Example() {
	const n = 8
	classes, err := symmetry.Classes(n, queens.Full)
	if err != nil {
		panic(err)
	}
	var sums symmetry.Sums
	for _, class := range classes {
		allowed := func(row, column int) bool { return class.Board.Allow[row]>>column&1 == 1 }
		sums.Add(class.Weight, oracle.Count(n, allowed, nil))
	}
	fmt.Println(len(classes), "classes,", sums.Total(), "solutions")
	// Output: 15 classes, 92 solutions
}
