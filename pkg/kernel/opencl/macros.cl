// Go puts this file in front of all others. These macros are all that they use of OpenCL, besides
// vectors. The rest is plain C99.
#define KERNEL      __kernel
#define GLOBAL      __global
#define LOCAL       __local
#define LANE()      ((uint)get_global_id(0))
#define LANES()     ((uint)get_global_size(0))
#define MEMBER()    ((uint)get_local_id(0))      // the lane's number in its group
#define MEMBERS()   ((uint)get_local_size(0))
#define GROUP()     ((uint)get_group_id(0))
#define GROUP_SYNC() barrier(CLK_LOCAL_MEM_FENCE)
#define ADD(p, n)   atomic_add(p, n)             // returns what was there before
#define RAISE(p, n) atomic_max(p, n)             // to at least n
#define COUNT(x)    popcount(x)
#define UNITE(p, n) atomic_or(p, n)              // bits that are added to a word
#define UPPER(x, y) mul_hi(x, y)                 // the upper half of the product
#define ZEROS(x)    clz(x)                       // zeros above the highest bit
