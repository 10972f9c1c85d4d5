//go:build !purego

package kernel

//go:noescape
func neonSpread(masks *rowMasks, rows int)

//go:noescape
func neonx16Rows2(from, to *queue[uint16], masks *rowMasks, flush bool) uint64

//go:noescape
func neonx16Rows2Gaps(from, to *queue[uint16], masks *rowMasks, flush bool) uint64

//go:noescape
func neonx16Rows3(from, to *queue[uint16], masks *rowMasks, flush bool) uint64

//go:noescape
func neonx16Rows3Gaps(from, to *queue[uint16], masks *rowMasks, flush bool) uint64

//go:noescape
func neonx16Rows4(from, to *queue[uint16], masks *rowMasks, flush bool) uint64

//go:noescape
func neonx16Rows4Gaps(from, to *queue[uint16], masks *rowMasks, flush bool) uint64

//go:noescape
func neonx16Rows5(from, to *queue[uint16], masks *rowMasks, flush bool) uint64

//go:noescape
func neonx16Rows5Gaps(from, to *queue[uint16], masks *rowMasks, flush bool) uint64

//go:noescape
func neonx16Rows6(from, to *queue[uint16], masks *rowMasks, flush bool) uint64

//go:noescape
func neonx16Rows6Gaps(from, to *queue[uint16], masks *rowMasks, flush bool) uint64

//go:noescape
func neonx16Rows10(from, to *queue[uint16], masks *rowMasks, flush bool) uint64

//go:noescape
func neonx16Rows10Gaps(from, to *queue[uint16], masks *rowMasks, flush bool) uint64

var neonx16 = &instructionSet[uint16]{
	shifts: signedCounts[uint16](),
	spread: neonSpread,
	steps: []steps[uint16]{
		2:  {ahead: 2, dense: neonx16Rows2, gaps: neonx16Rows2Gaps},
		3:  {ahead: 3, dense: neonx16Rows3, gaps: neonx16Rows3Gaps},
		4:  {ahead: 4, dense: neonx16Rows4, gaps: neonx16Rows4Gaps},
		5:  {ahead: 5, dense: neonx16Rows5, gaps: neonx16Rows5Gaps},
		6:  {ahead: 2, dense: neonx16Rows6, gaps: neonx16Rows6Gaps},
		7:  {ahead: 2, dense: neonx16Rows6, gaps: neonx16Rows6Gaps},
		8:  {ahead: 2, dense: neonx16Rows6, gaps: neonx16Rows6Gaps},
		9:  {ahead: 2, dense: neonx16Rows6, gaps: neonx16Rows6Gaps},
		10: {ahead: 2, dense: neonx16Rows10, gaps: neonx16Rows10Gaps},
	},
}

//go:noescape
func neonx32Rows2(from, to *queue[uint32], masks *rowMasks, flush bool) uint64

//go:noescape
func neonx32Rows2Gaps(from, to *queue[uint32], masks *rowMasks, flush bool) uint64

//go:noescape
func neonx32Rows3(from, to *queue[uint32], masks *rowMasks, flush bool) uint64

//go:noescape
func neonx32Rows3Gaps(from, to *queue[uint32], masks *rowMasks, flush bool) uint64

//go:noescape
func neonx32Rows4(from, to *queue[uint32], masks *rowMasks, flush bool) uint64

//go:noescape
func neonx32Rows4Gaps(from, to *queue[uint32], masks *rowMasks, flush bool) uint64

//go:noescape
func neonx32Rows5(from, to *queue[uint32], masks *rowMasks, flush bool) uint64

//go:noescape
func neonx32Rows5Gaps(from, to *queue[uint32], masks *rowMasks, flush bool) uint64

//go:noescape
func neonx32Rows6(from, to *queue[uint32], masks *rowMasks, flush bool) uint64

//go:noescape
func neonx32Rows6Gaps(from, to *queue[uint32], masks *rowMasks, flush bool) uint64

//go:noescape
func neonx32Rows10(from, to *queue[uint32], masks *rowMasks, flush bool) uint64

//go:noescape
func neonx32Rows10Gaps(from, to *queue[uint32], masks *rowMasks, flush bool) uint64

var neonx32 = &instructionSet[uint32]{
	shifts: signedCounts[uint32](),
	spread: neonSpread,
	steps: []steps[uint32]{
		2:  {ahead: 2, dense: neonx32Rows2, gaps: neonx32Rows2Gaps},
		3:  {ahead: 3, dense: neonx32Rows3, gaps: neonx32Rows3Gaps},
		4:  {ahead: 4, dense: neonx32Rows4, gaps: neonx32Rows4Gaps},
		5:  {ahead: 5, dense: neonx32Rows5, gaps: neonx32Rows5Gaps},
		6:  {ahead: 2, dense: neonx32Rows6, gaps: neonx32Rows6Gaps},
		7:  {ahead: 2, dense: neonx32Rows6, gaps: neonx32Rows6Gaps},
		8:  {ahead: 2, dense: neonx32Rows6, gaps: neonx32Rows6Gaps},
		9:  {ahead: 2, dense: neonx32Rows6, gaps: neonx32Rows6Gaps},
		10: {ahead: 2, dense: neonx32Rows10, gaps: neonx32Rows10Gaps},
	},
}
