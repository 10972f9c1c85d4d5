// The search in the lanes of a device. Go fills the queue, starts the kernels below one after the other, and adds up their
// counts. docs/kernels.md says how the search works.
//
// A state is a row of the board with four sets of squares. Queens above attack the squares in cols, left and right: cols
// along columns, left along diagonals that move to the next higher column with each row, right along diagonals that move to
// the next lower one. free has the squares that are neither attacked nor tried yet. One state is the root of one part of the
// search tree.
//
// Each lane searches depth first. Its stack has the states to which it returns, the deepest row on top. A lane without a
// state takes one from the queue, from any part of the tree.
//
// A round of search ends after a number of steps. Then each lane saves its stack in its own column of the array saved, and
// resumes from it in the next round. If the queue is empty, spill first moves half of each saved stack to the queue, where
// idle lanes find it. A launch is one or several rounds.
//
// What must always hold:
//
//   - The parts of the tree below the states in the queue, in the stacks and still on the host are
//     disjoint, and contain every completion that is not counted yet. A state moves between queue and
//     stacks, and is never in two places.
//   - Only spill and the host write to the queue, and only while it is empty. They write no more states
//     than the queue has room for: spill moves at most SLOTS / 2 states of each lane.
//   - A step finds at most one completion, and a round has at most 2^24 steps, so the 32 bits of found
//     are enough for a round.
//   - The 64 bits of a task's count are two words. An addition that wraps the lower word adds 1 to the
//     upper one. So a count needs no atomic operations of 64 bits, which some devices lack.

// These macros are all that the code uses of OpenCL, besides vectors. The rest is plain C99.
#define KERNEL      __kernel
#define GLOBAL      __global
#define LOCAL       __local
#define LANE()      ((uint)get_global_id(0))
#define LANES()     ((uint)get_global_size(0))
#define MEMBER()    ((uint)get_local_id(0))      // the lane's number in its group
#define MEMBERS()   ((uint)get_local_size(0))
#define GROUP_SYNC() barrier(CLK_LOCAL_MEM_FENCE)
#define ADD(p, n)   atomic_add(p, n)             // returns what was there before
#define RAISE(p, n) atomic_max(p, n)             // to at least n
#define COUNT(x)    popcount(x)
#define UPPER(x, y) mul_hi(x, y)                 // the upper half of the product

// The rows of a problem are numbered so that its last row is slot 31, whatever the number of rows.
#define SLOTS 32u

// Indices of the words of control. Each round has its own words. The host writes them before a launch and reads them
// afterwards.
#define NEXT 0 // states that lanes have taken from the queue, plus lanes that found none
#define SIZE 1 // states in the queue
#define BUSY 2 // not 0 if a lane has a state left at the end of the round
#define MOST 3 // the most steps of a lane; the other lanes were idle for the rest of the round
#define WORDS 4

// A round ends early if more than a quarter of the lanes are idle, so that these get states of the busy ones. Lanes check
// this every LOOK steps.
#define LOOK 128u

// What a lane keeps from launch to launch besides the states of its stack: their number, their task and their base.
typedef struct { uint depth, task, base; } Lane;

// The task of a state in the queue, and its base. The index of the state's row is base plus the number of its attacked
// columns. That is also true for all states below it, because each row attacks one column more. The sum may wrap.
typedef struct { uint base, task; } Place;

// A row of a problem: the squares that the next row allows, and the distance to the next row, 1 to 30. Both are 0 in the last
// row.
typedef struct { uint below, gap; } Row;

// add adds the completions that a lane has found to the count of a task.
void add(GLOBAL volatile uint *counts, uint task, uint found)
{
    if (found != 0) {
        const uint before = ADD(&counts[2 * task], found);
        if (before + found < before)
            ADD(&counts[2 * task + 1], 1u);
    }
}

// begin prepares a search: all lanes are idle and all counts 0.
KERNEL void begin(GLOBAL Lane *lanes, GLOBAL uint *counts, uint tasks)
{
    lanes[LANE()].depth = 0;
    for (uint i = LANE(); i < 2 * tasks; i += LANES())
        counts[i] = 0;
}

// shifts returns two factors that shift by 0 to 31. The product with the first is the value shifted to the left. The upper
// half of the product with the second is the value shifted to the right, but 0 for a shift by 0. GPUs can multiply and do
// other operations at the same time, and the search has many others.
uint2 shifts(uint by)
{
    return (uint2)(1u << by, by == 0 ? 0 : 1u << (32 - by));
}

// search takes up to budget steps in each lane. A step places one queen.
KERNEL void search(GLOBAL const uint4 *queue, GLOBAL const Place *places, GLOBAL volatile uint *control,
                   GLOBAL uint4 *saved, GLOBAL Lane *lanes, GLOBAL volatile uint *counts,
                   GLOBAL const Row *allRows, uint problems,
                   LOCAL uint4 *rows, LOCAL uint4 *stacks, uint budget, uint round)
{
    // In local memory a row has two sets of squares, which the next row and the row after it allow. It also has
    // two shifts: to the next row, and from there to the row after it. Only the shift of the last row has bit 31.
    LOCAL uint2 *const after = (LOCAL uint2 *)(rows + problems * SLOTS);
    for (uint i = MEMBER(); i < problems * SLOTS; i += MEMBERS()) {
        const uint slot = i % SLOTS;
        const Row row = allRows[i], next = allRows[min(i + 1, problems * SLOTS - 1)];
        const uint2 shift = slot == SLOTS - 1 ? (uint2)(1u << 31, 0) : shifts(row.gap);
        const bool tested = slot < SLOTS - 2; // there is a row after the next one
        rows[i] = (uint4)(row.below, tested ? next.below : row.below, shift);
        after[i] = shifts(tested ? next.gap : 0);
    }
    GROUP_SYNC();

    // The states of a lane's stack are width apart, so neighboring lanes use different banks of local memory,
    // whatever their depths. Below the stack is a state without free squares.
    const uint lane = LANE(), all = LANES(), width = MEMBERS();
    LOCAL uint4 *const bottom = stacks + width + MEMBER();
    LOCAL uint4 *top = bottom;
    stacks[MEMBER()] = (uint4)(0);
    uint task = lanes[lane].task, base = lanes[lane].base;
    for (uint i = 0; i < lanes[lane].depth; i++, top += width)
        *top = saved[i * all + lane];

    uint4 s = (uint4)(0); // the state: cols, left, right, free
    uint found = 0, step = 0;
    control += round * WORDS;
    const uint size = control[SIZE];
    while (control[NEXT] <= size + all / 4 && step < budget) {
        const uint end = min(step + LOOK, budget);
        #pragma unroll 4
        for (; step < end; step++) {
            if (s.w == 0) { // return to the deepest row with squares left
                top -= width;
                s = *top;
            }
            if (s.w == 0) { // the stack was empty
                top = bottom;
                const uint next = ADD(&control[NEXT], 1u);
                if (next >= size)
                    break;
                s = queue[next];
                base = places[next].base;
                if (places[next].task != task) {
                    add(counts, task, found);
                    task = places[next].task;
                    found = 0;
                }
            }

            // The lowest free square gets the queen. The others wait in the stack.
            const uint queen = s.w & -s.w;
            s.w ^= queen;
            if (s.w != 0) {
                *top = s;
                top += width;
            }
            const uint index = base + COUNT(s.x);
            const uint4 row = rows[index];
            const uint2 shift = after[index];
            s.x |= queen;
            s.y = (s.y | queen) * row.z;
            s.z = UPPER(s.z | queen, row.w);
            s.w = row.x & ~(s.x | s.y | s.z);
            // A state without a free square two rows further down has no completion.
            if ((row.y & ~(s.x | s.y * shift.x | UPPER(s.z, shift.y))) == 0)
                s.w = 0;
            found += row.z >> 31;
        }
        if (step < end) // no state is left
            break;
    }
    add(counts, task, found);

    if (s.w != 0) {
        *top = s;
        top += width;
    }
    const uint depth = (uint)((size_t)top - (size_t)bottom) / (width * (uint)sizeof(uint4));
    for (uint i = 0; i < depth; i++)
        saved[i * all + lane] = bottom[i * width];
    lanes[lane].depth = depth;
    lanes[lane].task = task;
    lanes[lane].base = base;
    if (depth != 0)
        control[BUSY] = 1;
    if (step > control[MOST]) // false in most lanes: another one took as many
        RAISE(&control[MOST], step);
}

// spill begins the next round. If the queue is empty, spill moves half of each saved stack to the queue: the states of the
// upper rows, which have most of the tree below them.
KERNEL void spill(GLOBAL uint4 *queue, GLOBAL Place *places, GLOBAL volatile uint *control,
                  GLOBAL uint4 *saved, GLOBAL Lane *lanes, uint round)
{
    const uint lane = LANE(), all = LANES(), depth = lanes[lane].depth;
    GLOBAL volatile uint *const now = control + round * WORDS, *const then = now + WORDS;
    if (now[NEXT] < now[SIZE]) {
        if (lane == 0) {
            then[NEXT] = now[NEXT];
            then[SIZE] = now[SIZE];
        }
        return;
    }
    if (depth == 0)
        return;
    const uint moved = (depth + 1) / 2, at = ADD(&then[SIZE], moved);
    for (uint i = 0; i < moved; i++) {
        queue[at + i] = saved[i * all + lane];
        places[at + i].base = lanes[lane].base;
        places[at + i].task = lanes[lane].task;
    }
    for (uint i = moved; i < depth; i++)
        saved[(i - moved) * all + lane] = saved[i * all + lane];
    lanes[lane].depth = depth - moved;
}
