package main

import (
	"fmt"

	"nqueens/pkg/queens"
)

// sameCount is the command line that begins the count of a manifest once more.
func sameCount(m *queens.Manifest) string {
	line := fmt.Sprintf("coordinator count %d", m.N)
	for _, s := range m.Placed {
		line += fmt.Sprintf(" --place %v", s)
	}
	if m.Symmetry != queens.Full && len(m.Placed) == 0 {
		line += fmt.Sprintf(" --symmetry %s", m.Symmetry)
	}
	// So --depth cuts every class; where the tasks came out so by themselves it changes nothing.
	if depth, ok := sameDepth(m.Classes); ok {
		line += fmt.Sprintf(" --depth %d", depth)
	}
	return line + " --new"
}

// sameDepth returns the one depth of all classes, where each of their tasks has one prefix.
func sameDepth(classes []queens.ClassPlan) (depth int, ok bool) {
	for i, c := range classes {
		if c.Batch != 1 || i > 0 && c.Depth != depth {
			return 0, false
		}
		depth = c.Depth
	}
	return depth, len(classes) > 0
}
