//go:build !purego

package kernel

import "golang.org/x/sys/cpu"

//go:generate go -C internal/asm run . -isa avx512 -out ../../avx512_amd64.s
//go:generate go -C internal/asm run . -isa avx2 -out ../../avx2_amd64.s

// What the steps demand of a child is said in internal/asm/main.go.

//go:noescape
func avx512Leaf(from, to *level, sight *sight, flush bool) uint64

//go:noescape
func avx512Three(from, to *level, sight *sight, flush bool) uint64

//go:noescape
func avx512Four(from, to *level, sight *sight, flush bool) uint64

//go:noescape
func avx512Five(from, to *level, sight *sight, flush bool) uint64

//go:noescape
func avx512Last(from, to *level, sight *sight, flush bool) uint64

//go:noescape
func avx512Near(from, to *level, sight *sight, flush bool) uint64

//go:noescape
func avx2Leaf(from, to *level, sight *sight, flush bool) uint64

//go:noescape
func avx2Three(from, to *level, sight *sight, flush bool) uint64

//go:noescape
func avx2Four(from, to *level, sight *sight, flush bool) uint64

//go:noescape
func avx2Five(from, to *level, sight *sight, flush bool) uint64

//go:noescape
func avx2Last(from, to *level, sight *sight, flush bool) uint64

//go:noescape
func avx2Near(from, to *level, sight *sight, flush bool) uint64

// avx512 counts with sixteen lanes. The features are those that its instructions
// need; package cpu reports them only where the operating system saves the
// registers.
var avx512 = Kernel{Name: "avx512", New: func() Counter {
	return newVectorCounter([]step{
		2: avx512Leaf, 3: avx512Three, 4: avx512Four, 5: avx512Five,
		6: avx512Last, 7: avx512Last, 8: avx512Last, 9: avx512Last,
		10: avx512Near,
	})
}}

// avx2 counts with eight lanes.
var avx2 = Kernel{Name: "avx2", New: func() Counter {
	return newVectorCounter([]step{
		2: avx2Leaf, 3: avx2Three, 4: avx2Four, 5: avx2Five,
		6: avx2Last, 7: avx2Last, 8: avx2Last, 9: avx2Last,
		10: avx2Near,
	})
}}

// vectorKernels returns the vector kernels that this machine can run, the fastest
// first.
func vectorKernels() []Kernel {
	var kernels []Kernel
	x := &cpu.X86
	if x.HasAVX512F && x.HasAVX512BW && x.HasAVX512VL && x.HasPOPCNT {
		kernels = append(kernels, avx512)
	}
	if x.HasAVX2 && x.HasPOPCNT {
		kernels = append(kernels, avx2)
	}
	return kernels
}
