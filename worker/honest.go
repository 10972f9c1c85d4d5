//go:build !liar

package main

import "nqueens/pkg/kernel"

// counting returns the kernel that counts for a coordinator: k. With the tag liar it is another, see liar.go.
func counting(k kernel.Kernel) kernel.Kernel { return k }
