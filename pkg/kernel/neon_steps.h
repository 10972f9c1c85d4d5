// All steps in lanes of one size. Macros say which: LANES is the arrangement of a vector, SIZE the size of a lane in bytes and LOG its
// binary logarithm, USHL an instruction; EXPAND, COMPRESS and WEIGHTS are tables, the others functions.

#define NAME ROWS2
#define LEAF
#include "neon_step.h"

#define NAME ROWS2GAPS
#define LEAF
#define GAPS
#define HAVE0L
#include "neon_step.h"

#define NAME ROWS3
#define ROW2
#include "neon_step.h"

#define NAME ROWS3GAPS
#define ROW2
#define GAPS
#define HAVE0L
#define HAVE0R
#include "neon_step.h"

#define NAME ROWS4
#define ROW2
#define ROW3
#define COLUMNS
#include "neon_step.h"

#define NAME ROWS4GAPS
#define ROW2
#define ROW3
#define COLUMNS
#define GAPS
#include "neon_step.h"

#define NAME ROWS5
#define ROW2
#define ROW3
#define ROW4
#include "neon_step.h"

#define NAME ROWS5GAPS
#define ROW2
#define ROW3
#define ROW4
#define GAPS
#include "neon_step.h"

#define NAME ROWS6
#define LAST
#include "neon_step.h"

#define NAME ROWS6GAPS
#define LAST
#define GAPS
#include "neon_step.h"

#define NAME ROWS10
#include "neon_step.h"

#define NAME ROWS10GAPS
#define GAPS
#define HAVE0L
#define HAVE0R
#define HAVE1L
#include "neon_step.h"

#undef LANES
#undef SIZE
#undef LOG
#undef USHL
#undef EXPAND
#undef COMPRESS
#undef WEIGHTS
#undef ROWS2
#undef ROWS2GAPS
#undef ROWS3
#undef ROWS3GAPS
#undef ROWS4
#undef ROWS4GAPS
#undef ROWS5
#undef ROWS5GAPS
#undef ROWS6
#undef ROWS6GAPS
#undef ROWS10
#undef ROWS10GAPS
