package kernel_test

import (
	"context"
	"fmt"
	"sync/atomic"

	"nqueens/pkg/kernel"
	"nqueens/pkg/queens"
)

// The fastest kernel of this machine counts the solutions of the full board of side 8.
func Example() {
	k, err := kernel.Choose(kernel.Auto)
	if err != nil {
		panic(err)
	}
	board := queens.FullBoard(8)
	var pulse atomic.Uint64 // for observers of a long search
	err = k.WithCounter(func(c kernel.Counter) error {
		count, err := c.Count(context.Background(), &board, []queens.Prefix{{}}, &pulse)
		fmt.Println(count)
		return err
	})
	fmt.Println(err)
	// Output:
	// 92
	// <nil>
}
