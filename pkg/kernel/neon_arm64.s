//go:build !purego

#include "go_asm.h"
#include "textflag.h"

// The layout of a queue and of row masks, as in vector.go.
#define HIGHWATER const_highWater
#define COLS (SIZE*4*const_laneCount)
#define BUFFER (SIZE*const_capacity)
#define LENGTH(queue) (SIZE*(4*const_laneCount+3*const_capacity))(queue)
#define WORDS 20
#define VECTORS 128
#define MASKROW VECTORS
#define MASKNEXT (VECTORS+64)
#define MASKLAST (VECTORS+384)
#define MASKCOLUMNS (VECTORS+448)
#define SHIFTS (VECTORS+512)
#define SHIFTLAST (VECTORS+1152)

#define FROM R0
#define TO R1
#define MASKS R2
#define FRONT R3 // the next state of from
#define BACK R4 // the end of to
#define END R5 // the end of from
#define ENOUGH R6 // the last position of FRONT with enough states for a round
#define FULL R7 // the greatest end of to with which a round may start
#define REFILL R8 // tables
#define PACK R9
#define COUNTS R10

// Go's assembler lacks two instructions. BIC(m, n, d) sets Vd to Vn &^ Vm, USHL(m, n, d) shifts the lanes of Vn by those of Vm: to the
// left by positive numbers, to the right by negative ones.
//
// References: Arm Architecture Reference Manual for A-profile, "Advanced SIMD three same".
#define BIC(m, n, d) \
	WORD $(0x4e601c00 | m<<16 | n<<5 | d)

#define LOADLANES(at, cols, left, right, free) \
	FMOVQ (at)(FROM), cols; \
	FMOVQ (at+SIZE*128)(FROM), left; \
	FMOVQ (at+SIZE*256)(FROM), right; \
	FMOVQ (at+SIZE*384)(FROM), free

#define STORELANES(at, cols, left, right, free) \
	FMOVQ cols, (at)(FROM); \
	FMOVQ left, (at+SIZE*128)(FROM); \
	FMOVQ right, (at+SIZE*256)(FROM); \
	FMOVQ free, (at+SIZE*384)(FROM)

// func neonSpread(masks *rowMasks, rows int)
TEXT ·neonSpread(SB), NOSPLIT, $0-16
	MOVD masks+0(FP), R0
	MOVD rows+8(FP), R1

row:
	ADD  $VECTORS, R0, R2
	MOVD $WORDS, R3

word:
	VLD1R.P 4(R0), [V0.S4]
	FMOVQ   F0, (R2)
	ADD     $64, R2, R2
	SUBS    $1, R3, R3
	BNE     word
	MOVD    R2, R0
	SUBS    $1, R1, R1
	BNE     row
	RET

#define LANES H8
#define SIZE 2
#define LOG 1
#define USHL(m, n, d) \
	WORD $(0x6e604400 | m<<16 | n<<5 | d)
#define EXPAND ·expandPerm16
#define COMPRESS ·compressPerm16
#define WEIGHTS ·laneWeights16
#define ROWS2 ·neonx16Rows2
#define ROWS2GAPS ·neonx16Rows2Gaps
#define ROWS3 ·neonx16Rows3
#define ROWS3GAPS ·neonx16Rows3Gaps
#define ROWS4 ·neonx16Rows4
#define ROWS4GAPS ·neonx16Rows4Gaps
#define ROWS5 ·neonx16Rows5
#define ROWS5GAPS ·neonx16Rows5Gaps
#define ROWS6 ·neonx16Rows6
#define ROWS6GAPS ·neonx16Rows6Gaps
#define ROWS10 ·neonx16Rows10
#define ROWS10GAPS ·neonx16Rows10Gaps
#include "neon_steps.h"

#define LANES S4
#define SIZE 4
#define LOG 2
#define USHL(m, n, d) \
	WORD $(0x6ea04400 | m<<16 | n<<5 | d)
#define EXPAND ·expandPerm32
#define COMPRESS ·compressPerm32
#define WEIGHTS ·laneWeights32
#define ROWS2 ·neonx32Rows2
#define ROWS2GAPS ·neonx32Rows2Gaps
#define ROWS3 ·neonx32Rows3
#define ROWS3GAPS ·neonx32Rows3Gaps
#define ROWS4 ·neonx32Rows4
#define ROWS4GAPS ·neonx32Rows4Gaps
#define ROWS5 ·neonx32Rows5
#define ROWS5GAPS ·neonx32Rows5Gaps
#define ROWS6 ·neonx32Rows6
#define ROWS6GAPS ·neonx32Rows6Gaps
#define ROWS10 ·neonx32Rows10
#define ROWS10GAPS ·neonx32Rows10Gaps
#include "neon_steps.h"
