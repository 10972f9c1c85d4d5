//go:build !purego

#include "textflag.h"

// The functions of the kernel neon, one for each number of tables. A row of a table has 256 bits, two
// vectors. A function keeps the mask that it looks up in R4, the tables in R2, and the intersection of
// the rows in V0 and V1.

// FIRST loads the row of the first table.
#define FIRST \
	AND  $127, R4, R5;           \
	ADD  R5<<5, R2, R6;          \
	VLD1 (R6), [V0.B16, V1.B16]

// NEXT intersects with the row of the table at the given offset, for the seven bits from the given one on.
#define NEXT(bit, offset) \
	UBFX $bit, R4, $7, R5;       \
	ADD  R5<<5, R2, R6;          \
	ADD  $offset, R6;            \
	VLD1 (R6), [V2.B16, V3.B16]; \
	VAND V2.B16, V0.B16, V0.B16; \
	VAND V3.B16, V1.B16, V1.B16
#define ROWS1 FIRST
#define ROWS2 ROWS1; NEXT(7, 4096)
#define ROWS3 ROWS2; NEXT(14, 8192)
#define ROWS4 ROWS3; NEXT(21, 12288)
#define ROWS5 ROWS4; NEXT(28, 16384)
#define ROWS6 ROWS5; NEXT(35, 20480)
#define ROWS7 ROWS6; NEXT(42, 24576)
#define ROWS8 ROWS7; NEXT(49, 28672)
#define ROWS9 ROWS8; NEXT(56, 32768)

// COUNT adds the numbers of bits of the intersections to a tally, for each of their four words. The
// lanes of V8 to V11, one vector for each word, have room for the bits of 2,048 masks.
#define COUNT(ROWS) \
	MOVD    stream_base+0(FP), R0;     \
	MOVD    stream_len+8(FP), R1;      \
	MOVD    tables+24(FP), R2;         \
	MOVD    t+32(FP), R3;              \
	ADD     $64, R3;                   \
	MOVD    $2048, R10;                \
part:                                \
	CBZ     R1, done;                  \
	CMP     R10, R1;                   \
	CSEL    LO, R1, R10, R7;           \
	SUB     R7, R1;                    \
	VEOR    V8.B16, V8.B16, V8.B16;    \
	VEOR    V9.B16, V9.B16, V9.B16;    \
	VEOR    V10.B16, V10.B16, V10.B16; \
	VEOR    V11.B16, V11.B16, V11.B16; \
mask:                                \
	MOVD.P  8(R0), R4;                 \
	ROWS;                              \
	VCNT    V0.B16, V0.B16;            \
	VCNT    V1.B16, V1.B16;            \
	VUADDW  V0.B8, V8.H8, V8.H8;       \
	VUADDW2 V0.B16, V9.H8, V9.H8;      \
	VUADDW  V1.B8, V10.H8, V10.H8;     \
	VUADDW2 V1.B16, V11.H8, V11.H8;    \
	SUBS    $1, R7;                    \
	BNE     mask;                      \
	ADDWORD(V8, 0);                    \
	ADDWORD(V9, 8);                    \
	ADDWORD(V10, 16);                  \
	ADDWORD(V11, 24);                  \
	B       part;                      \
done:                                \
	RET

// ADDWORD adds the lanes of a vector to a word of the tally.
#define ADDWORD(lanes, word) \
	VUADDLV lanes.H8, V12;             \
	VMOV    V12.S[0], R8;              \
	MOVD    word(R3), R9;              \
	ADD     R8, R9;                    \
	MOVD    R9, word(R3)

// FIT stores the intersections.
#define FIT(ROWS) \
	MOVD clashes_base+0(FP), R0;         \
	MOVD clashes_len+8(FP), R1;          \
	MOVD tables+24(FP), R2;              \
	MOVD fits+32(FP), R3;                \
	CBZ  R1, done;                       \
clash:                               \
	MOVD.P 8(R0), R4;                    \
	ROWS;                                \
	VST1.P [V0.B16, V1.B16], 32(R3);     \
	SUBS $1, R1;                         \
	BNE  clash;                          \
done:                                \
	RET

TEXT ·neonCount1(SB), NOSPLIT, $0-40
	COUNT(ROWS1)

TEXT ·neonCount2(SB), NOSPLIT, $0-40
	COUNT(ROWS2)

TEXT ·neonCount3(SB), NOSPLIT, $0-40
	COUNT(ROWS3)

TEXT ·neonCount4(SB), NOSPLIT, $0-40
	COUNT(ROWS4)

TEXT ·neonCount5(SB), NOSPLIT, $0-40
	COUNT(ROWS5)

TEXT ·neonCount6(SB), NOSPLIT, $0-40
	COUNT(ROWS6)

TEXT ·neonCount7(SB), NOSPLIT, $0-40
	COUNT(ROWS7)

TEXT ·neonCount8(SB), NOSPLIT, $0-40
	COUNT(ROWS8)

TEXT ·neonCount9(SB), NOSPLIT, $0-40
	COUNT(ROWS9)

TEXT ·neonFit1(SB), NOSPLIT, $0-40
	FIT(ROWS1)

TEXT ·neonFit2(SB), NOSPLIT, $0-40
	FIT(ROWS2)

TEXT ·neonFit3(SB), NOSPLIT, $0-40
	FIT(ROWS3)

TEXT ·neonFit4(SB), NOSPLIT, $0-40
	FIT(ROWS4)

TEXT ·neonFit5(SB), NOSPLIT, $0-40
	FIT(ROWS5)

TEXT ·neonFit6(SB), NOSPLIT, $0-40
	FIT(ROWS6)

TEXT ·neonFit7(SB), NOSPLIT, $0-40
	FIT(ROWS7)

TEXT ·neonFit8(SB), NOSPLIT, $0-40
	FIT(ROWS8)

TEXT ·neonFit9(SB), NOSPLIT, $0-40
	FIT(ROWS9)
