// A step of the search, for NEON: see step in vector.go, and docs/kernels.md. neon_steps.h includes this file once for each
// function. Macros say which:
//
//	NAME       the function
//	GAPS       one of the next rows may have a queen already; else each is the next on the board
//	LEAF       completions of children with two rows left are counted; else children are stored
//	ROW2, ROW3, ROW4   a child is stored if it has a free square in its row, the next, and these rows after it
//	COLUMNS    instead of these rows: if each column without a queen has a free square in one of them
//	LAST       and in the last row
//	HAVE0L, HAVE0R, HAVE1L   these shifts are in registers: from the row to the next, to the left and to the right; from the next
//	           row to the one after it, to the left
//
// Registers: V0 to V15 hold the four vectors of states, each as cols, left, right and the free squares that are still to be tried;
// V16 to V18 the children, as cols, left, right; V19 to V22 what is temporary; V23 a constant from memory; V24 to V29 constants;
// V30 the weights of lanes; V31 ones. Positions in a queue are pointers to cols in its buffers, where left and right are at
// fixed distances.
//
// A comparison makes a lane all ones or zero. NEON has no instruction that gathers a bit of each lane, so the lanes are masked by
// weights 1, 2, 4, and so on, and added up. The sum selects a shuffle from a table, which VTBL applies.

// DOWN0 moves the children's diagonals from the row to the next.
#ifndef GAPS
#define DOWN0 \
	VADD  V17.LANES, V17.LANES, V17.LANES; \
	VUSHR $1, V18.LANES, V18.LANES
#else
#ifdef HAVE0L
#define DOWN0LEFT \
	USHL(25, 17, 17)
#else
#define DOWN0LEFT \
	FMOVQ SHIFTS(MASKS), F23; \
	USHL(23, 17, 17)
#endif
#ifdef HAVE0R
#define DOWN0RIGHT \
	USHL(24, 18, 18)
#else
#define DOWN0RIGHT \
	FMOVQ (SHIFTS+64)(MASKS), F23; \
	USHL(23, 18, 18)
#endif
#define DOWN0 \
	DOWN0LEFT; \
	DOWN0RIGHT
#endif

// DOWN(i, before) sets V19 and V22 to the children's diagonals in the i-th row after the next; before has the left ones in the row
// above.
#ifndef GAPS
#define DOWN(i, before) \
	VADD  before.LANES, before.LANES, V19.LANES; \
	VUSHR $i, V18.LANES, V22.LANES
#define DOWN1(before) \
	DOWN(1, before)
#else
#define DOWN(i, before) \
	FMOVQ (SHIFTS+128*i)(MASKS), F23; \
	USHL(23, 17, 19); \
	FMOVQ (SHIFTS+128*i+64)(MASKS), F23; \
	USHL(23, 18, 22)
#ifdef HAVE1L
#define DOWN1(before) \
	USHL(26, 17, 19); \
	FMOVQ (SHIFTS+192)(MASKS), F23; \
	USHL(23, 18, 22)
#else
#define DOWN1(before) \
	DOWN(1, before)
#endif
#endif

// FREE(left, right, allow, x, X) sets x to the columns that a row mask allows and a child does not attack.
#define FREE(left, right, allow, x, X) \
	VORR left.B16, right.B16, x.B16; \
	VORR V16.B16, x.B16, x.B16; \
	BIC(X, allow, X)

// SELECT takes the lowest free square of each lane, makes the children of queens on these squares, and refills lanes without a
// square left from the front of the queue.
#define SELECT(cols, left, right, free, FREENUMBER) \
	VADD   V31.LANES, free.LANES, V19.LANES; \
	VCMTST free.LANES, V19.LANES, V20.LANES; \
	BIC(19, FREENUMBER, 21); \
	VAND   V19.B16, free.B16, free.B16; \
	VORR   V21.B16, cols.B16, V16.B16; \
	VORR   V21.B16, left.B16, V17.B16; \
	VORR   V21.B16, right.B16, V18.B16; \
	DOWN0; \
	BIC(20, 30, 21); \
	VADDV  V21.LANES, V21; \
	VMOV   V21.S[0], R11; \
	ADD    R11<<4, REFILL, R13; \
	MOVBU  (COUNTS)(R11), R12; \
	FMOVQ  (R13), F21; \
	FMOVQ  (FRONT), F19; \
	VTBL   V21.B16, [V19.B16], V19.B16; \
	VBIF   V20.B16, V19.B16, cols.B16; \
	FMOVQ  BUFFER(FRONT), F19; \
	VTBL   V21.B16, [V19.B16], V19.B16; \
	VBIF   V20.B16, V19.B16, left.B16; \
	FMOVQ  (2*BUFFER)(FRONT), F19; \
	VTBL   V21.B16, [V19.B16], V19.B16; \
	VBIF   V20.B16, V19.B16, right.B16; \
	ADD    R12<<LOG, FRONT, FRONT; \
	VORR   left.B16, right.B16, V19.B16; \
	VORR   cols.B16, V19.B16, V19.B16; \
	BIC(19, 29, 19); \
	VBIF   V20.B16, V19.B16, free.B16

#ifdef LEAF
#ifndef GAPS
#define BESIDE \
	VADD V21.LANES, V21.LANES, V18.LANES
#else
#define BESIDE \
	FMOVQ (SHIFTS+128)(MASKS), F23; \
	USHL(23, 21, 18)
#endif

// CHILDREN adds the number of completions of children with two rows left: with a queen in each of the two open columns, which must
// not attack each other.
#define CHILDREN \
	FREE(V17, V18, 28, V20, 20); \
	DOWN1(V17); \
	FREE(V19, V22, 27, V22, 22); \
	BIC(16, 26, 21); \
	VORR   V20.B16, V22.B16, V19.B16; \
	VEOR   V21.B16, V19.B16, V19.B16; \
	BESIDE; \
	VAND   V21.B16, V18.B16, V18.B16; \
	VORR   V18.B16, V19.B16, V19.B16; \
	VCMTST V19.LANES, V19.LANES, V19.LANES; \
	VCMEQ  V20.LANES, V22.LANES, V17.LANES; \
	VUMIN  V20.LANES, V22.LANES, V20.LANES; \
	VCMTST V20.LANES, V20.LANES, V20.LANES; \
	BIC(19, 20, 20); \
	VSUB   V20.LANES, V24.LANES, V24.LANES; \
	VAND   V17.B16, V20.B16, V20.B16; \
	VSUB   V20.LANES, V24.LANES, V24.LANES
#else

// TEST narrows the least number of free squares, in V20, by those of a row in V22.
#define TEST \
	VUMIN V22.LANES, V20.LANES, V20.LANES
#define TESTROW(i, allow) \
	DOWN(i, V19); \
	FREE(V19, V22, allow, V22, 22)
#ifdef COLUMNS
#define FIRST \
	VORR V16.B16, V20.B16, V21.B16
#define SECOND \
	VORR V22.B16, V21.B16, V21.B16; \
	TEST
#define LATER \
	VORR V22.B16, V21.B16, V21.B16
#define FINALLY \
	VCMTST V20.LANES, V20.LANES, V20.LANES; \
	VCMEQ  V24.LANES, V21.LANES, V21.LANES; \
	VAND   V21.B16, V20.B16, V20.B16
#else
#define FIRST
#define SECOND \
	TEST
#define LATER \
	TEST
#define FINALLY \
	VCMTST V20.LANES, V20.LANES, V20.LANES
#endif
#ifdef ROW2
#define TESTROW2 \
	TESTROW(2, 26); \
	LATER
#else
#define TESTROW2
#endif
#ifdef ROW3
#define TESTROW3 \
	TESTROW(3, 25); \
	LATER
#else
#define TESTROW3
#endif
#ifdef ROW4
#define TESTROW4 \
	TESTROW(4, 24); \
	LATER
#else
#define TESTROW4
#endif
#ifdef LAST
#define TESTLAST \
	USHL(25, 17, 19); \
	USHL(24, 18, 22); \
	FREE(V19, V22, 26, V22, 22); \
	TEST
#else
#define TESTLAST
#endif

// CHILDREN appends the children that meet the rules to the next queue.
#define CHILDREN \
	FREE(V17, V18, 28, V20, 20); \
	FIRST; \
	DOWN1(V17); \
	FREE(V19, V22, 27, V22, 22); \
	SECOND; \
	TESTROW2; \
	TESTROW3; \
	TESTROW4; \
	TESTLAST; \
	FINALLY; \
	VAND  V30.B16, V20.B16, V20.B16; \
	VADDV V20.LANES, V20; \
	VMOV  V20.S[0], R11; \
	ADD   R11<<4, PACK, R13; \
	MOVBU (COUNTS)(R11), R12; \
	FMOVQ (R13), F20; \
	VTBL  V20.B16, [V16.B16], V16.B16; \
	FMOVQ F16, (BACK); \
	VTBL  V20.B16, [V17.B16], V17.B16; \
	FMOVQ F17, BUFFER(BACK); \
	VTBL  V20.B16, [V18.B16], V18.B16; \
	FMOVQ F18, (2*BUFFER)(BACK); \
	ADD   R12<<LOG, BACK, BACK
#endif

// func NAME(from, to *queue, masks *rowMasks, flush bool) uint64
TEXT NAME(SB), NOSPLIT, $0-40
	MOVD  from+0(FP), FROM
	MOVD  to+8(FP), TO
	MOVD  masks+16(FP), MASKS
	ADD   $COLS, FROM, FRONT
	MOVD  LENGTH(FROM), END
	ADD   END<<LOG, FRONT, END
	MOVD  $EXPAND(SB), REFILL
	MOVD  $·laneCounts(SB), COUNTS
	MOVD  $WEIGHTS(SB), R11
	FMOVQ (R11), F30
	VMOVI $255, V31.B16
	FMOVQ MASKROW(MASKS), F29
	FMOVQ MASKNEXT(MASKS), F28
	FMOVQ (MASKNEXT+64)(MASKS), F27
#ifdef LEAF
	VEOR  V24.B16, V24.B16, V24.B16
	FMOVQ MASKCOLUMNS(MASKS), F26
#else
	MOVD  $COMPRESS(SB), PACK
	ADD   $COLS, TO, FULL
	MOVD  LENGTH(TO), BACK
	ADD   BACK<<LOG, FULL, BACK
	ADD   $(SIZE*HIGHWATER), FULL, FULL
#endif
#ifdef ROW2
	FMOVQ (MASKNEXT+128)(MASKS), F26
#endif
#ifdef ROW3
	FMOVQ (MASKNEXT+192)(MASKS), F25
#endif
#ifdef ROW4
	FMOVQ (MASKNEXT+256)(MASKS), F24
#endif
#ifdef COLUMNS
	FMOVQ MASKCOLUMNS(MASKS), F24
#endif
#ifdef LAST
	FMOVQ MASKLAST(MASKS), F26
	FMOVQ SHIFTLAST(MASKS), F25
	FMOVQ (SHIFTLAST+64)(MASKS), F24
#endif
#ifdef HAVE0L
	FMOVQ SHIFTS(MASKS), F25
#endif
#ifdef HAVE0R
	FMOVQ (SHIFTS+64)(MASKS), F24
#endif
#ifdef HAVE1L
	FMOVQ (SHIFTS+128)(MASKS), F26
#endif
	LOADLANES(0, F0, F1, F2, F3)
	LOADLANES(16, F4, F5, F6, F7)
	LOADLANES(32, F8, F9, F10, F11)
	LOADLANES(48, F12, F13, F14, F15)
	SUB   $64, END, ENOUGH
	MOVBU flush+24(FP), R11
	CBZ   R11, check

	// Idle states follow the last state, for lanes that find no other.
	FMOVQ F31, (END)
	FMOVQ F31, 16(END)
	FMOVQ F31, 32(END)
	FMOVQ F31, 48(END)
	SUB   $1, END, ENOUGH
	JMP   check

more:
	SELECT(V0, V1, V2, V3, 3)
	CHILDREN
	SELECT(V4, V5, V6, V7, 7)
	CHILDREN
	SELECT(V8, V9, V10, V11, 11)
	CHILDREN
	SELECT(V12, V13, V14, V15, 15)
	CHILDREN

check:
#ifndef LEAF
	CMP FULL, BACK
	BHI done
#endif
	CMP   ENOUGH, FRONT
	BLS   more
	MOVBU flush+24(FP), R11
	CBZ   R11, done

	// A flush goes on with what is left in the lanes.
	MOVD END, FRONT
	VORR V3.B16, V7.B16, V19.B16
	VORR V11.B16, V19.B16, V19.B16
	VORR V15.B16, V19.B16, V19.B16
	VMOV V19.D[0], R11
	VMOV V19.D[1], R12
	ORR  R11, R12, R11
	CBNZ R11, more

done:
	CMP  END, FRONT
	CSEL HI, END, FRONT, FRONT
	STORELANES(0, F0, F1, F2, F3)
	STORELANES(16, F4, F5, F6, F7)
	STORELANES(32, F8, F9, F10, F11)
	STORELANES(48, F12, F13, F14, F15)

	// The remaining states move to the front.
	SUB  FRONT, END, R11
	LSR  $LOG, R11, R11
	MOVD R11, LENGTH(FROM)
	ADD  $COLS, FROM, R12
	JMP  moved

move:
	FMOVQ (FRONT), F19
	FMOVQ F19, (R12)
	FMOVQ BUFFER(FRONT), F20
	FMOVQ F20, BUFFER(R12)
	FMOVQ (2*BUFFER)(FRONT), F21
	FMOVQ F21, (2*BUFFER)(R12)
	ADD   $16, FRONT, FRONT
	ADD   $16, R12, R12

moved:
	CMP END, FRONT
	BLO move
#ifdef LEAF
	VUADDLV V24.LANES, V24
	VMOV    V24.D[0], R11
	MOVD    R11, ret+32(FP)
#else
	SUB  TO, BACK, BACK
	SUB  $COLS, BACK, BACK
	LSR  $LOG, BACK, BACK
	MOVD BACK, LENGTH(TO)
	MOVD ZR, ret+32(FP)
#endif
	RET

#undef NAME
#undef DOWN0
#undef DOWN
#undef DOWN1
#undef FREE
#undef SELECT
#undef CHILDREN
#ifdef LEAF
#undef LEAF
#undef BESIDE
#else
#undef TEST
#undef TESTROW
#undef FIRST
#undef SECOND
#undef LATER
#undef FINALLY
#undef TESTROW2
#undef TESTROW3
#undef TESTROW4
#undef TESTLAST
#endif
#ifdef GAPS
#undef GAPS
#undef DOWN0LEFT
#undef DOWN0RIGHT
#endif
#ifdef ROW2
#undef ROW2
#endif
#ifdef ROW3
#undef ROW3
#endif
#ifdef ROW4
#undef ROW4
#endif
#ifdef COLUMNS
#undef COLUMNS
#endif
#ifdef LAST
#undef LAST
#endif
#ifdef HAVE0L
#undef HAVE0L
#endif
#ifdef HAVE0R
#undef HAVE0R
#endif
#ifdef HAVE1L
#undef HAVE1L
#endif
