// Command asm writes the vector kernels of package kernel: avx512_amd64.s and
// avx2_amd64.s. It is a module of its own, so that the program does not depend on
// the generator.
//
// step.go writes the step of the search once, in terms of the interface isa; avx512.go and
// avx2.go implement that interface. The generated functions differ in their instruction set
// and in how they prune children; see pruneRules.
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/mmcloughlin/avo/build"
)

// pruneRules says which children of a state survive.
type pruneRules struct {
	name string
	// nextRows is the number of rows, from the child's own row on, in which the child must
	// have a free square.
	nextRows int
	// last requires a free square in the last row too.
	last bool
	// columns requires, of a child with nextRows rows left, that each column without a queen
	// has a free square in one of them. It replaces the test of the rows after the second,
	// which would prune few more children.
	columns bool
	// leaf counts the completions of a child with two rows left instead of storing it.
	leaf bool
}

// variants are the functions of each kernel, named after the least number of rows below the
// row that they serve; kernels_amd64.go of package kernel assigns them to rows. Measurements
// decided the choice: a rule pays where few children meet it.
var variants = []pruneRules{
	{name: "Rows2", leaf: true},
	{name: "Rows3", nextRows: 3},
	{name: "Rows4", nextRows: 4, columns: true},
	{name: "Rows5", nextRows: 5},
	{name: "Rows6", nextRows: 2, last: true},
	{name: "Rows10", nextRows: 2},
}

func main() {
	isa := flag.String("isa", "avx512", "instruction set: avx512 or avx2")
	flag.Parse()
	build.ConstraintExpr("!purego")
	for _, d := range variants {
		switch *isa {
		case "avx512":
			expand(&avx512{}, "avx512"+d.name, d)
		case "avx2":
			expand(&avx2{}, "avx2"+d.name, d)
		default:
			fmt.Fprintf(os.Stderr, "asm: no instruction set %q\n", *isa)
			os.Exit(2)
		}
	}
	build.Generate()
}
