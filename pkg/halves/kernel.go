package halves

import (
	"fmt"
	"slices"
	"strings"
)

// Kernel is an implementation of the inner loops. Kernels have the names of the kernels of package
// kernel that use the same instructions.
type Kernel struct {
	Name   string
	newBin func() bin
	build  buildFunc[narrow]
	fits   [chunks]fitFunc // for each number of tables, minus 1

	// open opens a device that joins in place of the threads, whose bins have so many words: see
	// [WithDevice]. It is nil if there is none.
	open  func(Room) (Device, error)
	words int
}

// generic is plain Go. Every machine can run it.
var generic = Kernel{
	Name: "generic", newBin: binsOf(buildPlain, plainCounts()), build: buildPlain, fits: plainFits(),
}

// Available returns the kernels that this machine can run, the default first.
func Available() []Kernel { return append(vectorKernels(), generic) }

// Choose returns the kernel with the given name. The error for an unknown or unsupported name lists
// the kernels of this machine.
func Choose(name string) (Kernel, error) {
	available := Available()
	i := slices.IndexFunc(available, func(k Kernel) bool { return k.Name == name })
	if i >= 0 {
		return available[i], nil
	}
	var names []string
	for _, k := range available {
		names = append(names, k.Name)
	}
	return Kernel{}, fmt.Errorf("no kernel %q for halves on this machine: it has %s",
		name, strings.Join(names, ", "))
}
