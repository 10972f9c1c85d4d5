// Command asm prints one file of the vector kernels of package kernel for amd64: avx512_amd64.s,
// avx2_amd64.s, or the Go file that declares the functions of one of them. It is a module of its
// own, so that the programs do not depend on the generator.
//
// step.go writes the step of the search once, in terms of the interface isa; avx512.go and avx2.go
// implement that interface, each for lanes of 16 and of 32 bits. declare.go writes the Go files.
// The generated functions differ in their instruction set, in the width of their lanes, and in how
// they prune children; see pruneRules.
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/mmcloughlin/avo/build"
)

// pruneRules says which children of a state survive.
type pruneRules struct {
	// below is the least number of rows below the rows that the function serves.
	below int
	// nextRows is the number of rows, from the child's own row on, that must each have a free square.
	nextRows int
	// last requires a free square in the last row too.
	last bool
	// columns is for children with nextRows rows left: each column without a queen must have a free
	// square in one of these rows. It replaces the test of the rows after the second, which would
	// prune few more children.
	columns bool
	// leaf counts the completions of a child with two rows left instead of storing it.
	leaf bool
	// gaps says that rows with a queen may lie between the rows at which a step looks. Without gaps,
	// these rows follow each other on the board, except the last row.
	gaps bool
}

// variants are the functions of each kernel. Measurements decided the choice: a rule pays off where
// few children meet it.
var variants = []pruneRules{
	{below: 2, leaf: true, nextRows: 2},
	{below: 3, nextRows: 3},
	{below: 4, nextRows: 4, columns: true},
	{below: 5, nextRows: 5},
	{below: 6, nextRows: 2, last: true},
	{below: 10, nextRows: 2},
}

// name returns the end of the name of the function with these rules, such as Rows3Gaps.
func (d pruneRules) name() string {
	if d.gaps {
		return fmt.Sprintf("Rows%dGaps", d.below)
	}
	return fmt.Sprintf("Rows%d", d.below)
}

func main() {
	name := flag.String("isa", "avx512", "instruction set: avx512 or avx2")
	declarations := flag.Bool("go", false, "write the Go file, not the assembly")
	flag.Parse()
	if *declarations {
		text, err := goFile(*name)
		if err != nil {
			fmt.Fprintf(os.Stderr, "asm: format the Go file: %v\n", err)
			os.Exit(1)
		}
		fmt.Print(string(text))
		return
	}
	build.ConstraintExpr("!purego")
	if readsVectors[*name] {
		spread()
	}
	for _, size := range []laneSize{2, 4} {
		prefix := fmt.Sprintf("%sx%d", *name, 8*size)
		instructions := func(d pruneRules) isa {
			switch *name {
			case "avx512":
				return newAVX512(size, d)
			case "avx2":
				return newAVX2(size, d)
			}
			fmt.Fprintf(os.Stderr, "asm: no instruction set %q\n", *name)
			os.Exit(2)
			return nil
		}
		for _, d := range variants {
			for _, d.gaps = range []bool{false, true} {
				expand(instructions(d), size, prefix+d.name(), d)
			}
		}
	}
	build.Generate()
}
