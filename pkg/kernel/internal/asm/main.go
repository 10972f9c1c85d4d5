// Command asm writes the vector kernels of package kernel: avx512_amd64.s and
// avx2_amd64.s. It is a module of its own, so that the program does not depend on
// the generator.
//
// One step is written here once, in step.go, in words that each instruction set
// spells its own way: avx512.go and avx2.go. The functions that come out differ in
// the instruction set and in what they demand of a child; see demands.
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/mmcloughlin/avo/build"
)

// demands says which children of a state are kept.
type demands struct {
	name string
	// ahead is the number of rows, from the child's own on, that the child must
	// leave a free square.
	ahead int
	// last demands one of the last row too.
	last bool
	// columns demands, of a child with ahead rows left, that each column without
	// a queen has a free square in one of them. It stands in for the demand on
	// the rows after the second, which would catch few children more.
	columns bool
	// leaf counts the completions of a child with two rows left instead of
	// keeping it.
	leaf bool
}

// variants are the functions of each kernel; step_amd64.go of package kernel says
// which one serves which row. The choice was measured: a demand pays where few children
// meet it.
var variants = []demands{
	{name: "Leaf", leaf: true},
	{name: "Three", ahead: 3},
	{name: "Four", ahead: 4, columns: true},
	{name: "Five", ahead: 5},
	{name: "Last", ahead: 2, last: true},
	{name: "Near", ahead: 2},
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
