//go:build !purego

package halves

// vectorKernels returns the vector kernels that this machine can run. Every arm64 machine has NEON.
func vectorKernels() []Kernel {
	return []Kernel{{
		Name: "neon", newBin: binsOf(buildPlain, neonCounts), build: buildPlain, fits: neonFits,
	}}
}

//go:noescape
func neonCount1(stream []uint64, tables *tables[narrow], t *tally[narrow])

//go:noescape
func neonCount2(stream []uint64, tables *tables[narrow], t *tally[narrow])

//go:noescape
func neonCount3(stream []uint64, tables *tables[narrow], t *tally[narrow])

//go:noescape
func neonCount4(stream []uint64, tables *tables[narrow], t *tally[narrow])

//go:noescape
func neonCount5(stream []uint64, tables *tables[narrow], t *tally[narrow])

//go:noescape
func neonCount6(stream []uint64, tables *tables[narrow], t *tally[narrow])

//go:noescape
func neonCount7(stream []uint64, tables *tables[narrow], t *tally[narrow])

//go:noescape
func neonCount8(stream []uint64, tables *tables[narrow], t *tally[narrow])

//go:noescape
func neonCount9(stream []uint64, tables *tables[narrow], t *tally[narrow])

var neonCounts = [chunks]countFunc[narrow]{
	neonCount1,
	neonCount2,
	neonCount3,
	neonCount4,
	neonCount5,
	neonCount6,
	neonCount7,
	neonCount8,
	neonCount9,
}

//go:noescape
func neonFit1(clashes []uint64, tables *tables[narrow], fits *[crossRound]narrow)

//go:noescape
func neonFit2(clashes []uint64, tables *tables[narrow], fits *[crossRound]narrow)

//go:noescape
func neonFit3(clashes []uint64, tables *tables[narrow], fits *[crossRound]narrow)

//go:noescape
func neonFit4(clashes []uint64, tables *tables[narrow], fits *[crossRound]narrow)

//go:noescape
func neonFit5(clashes []uint64, tables *tables[narrow], fits *[crossRound]narrow)

//go:noescape
func neonFit6(clashes []uint64, tables *tables[narrow], fits *[crossRound]narrow)

//go:noescape
func neonFit7(clashes []uint64, tables *tables[narrow], fits *[crossRound]narrow)

//go:noescape
func neonFit8(clashes []uint64, tables *tables[narrow], fits *[crossRound]narrow)

//go:noescape
func neonFit9(clashes []uint64, tables *tables[narrow], fits *[crossRound]narrow)

var neonFits = [chunks]fitFunc{
	neonFit1,
	neonFit2,
	neonFit3,
	neonFit4,
	neonFit5,
	neonFit6,
	neonFit7,
	neonFit8,
	neonFit9,
}
