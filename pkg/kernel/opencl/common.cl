// What both searches have in common: search.cl, where each lane searches for itself, and warps.cl,
// where the lanes of a warp search together. Go puts macros.cl and this file in front of one of them.
// Each of them has the kernels search and spill, with the same arguments.
//
// A state is a row of the board with four sets of squares. Queens above attack the squares in cols,
// left and right: cols along columns, left along diagonals that move to the next higher column with
// each row, right along diagonals that move to the next lower one. free has the squares that are
// neither attacked nor tried yet. One state is the root of one part of the search tree.
//
// A round of search ends after a number of steps. Then all states go to the array saved, and the
// next round resumes from there. If the queue is empty, spill first moves some of the saved states
// to the queue, where idle lanes find them. A launch is one or several rounds.
//
// For n = 20 an H200 searches for 1.525 s. It took 1.558 s when spill moved whole stacks, 1.594 s
// also without an unrolled loop, and 1.668 s also with shifts in place of products (search.cl).
//
// What must always hold:
//
//   - The parts of the tree below the states in the queue, in the lanes and still on the host are
//     disjoint, and contain every completion that is not counted yet. A state moves between queue and
//     lanes, and is never in two places.
//   - Only spill and the host write to the queue, and only while it is empty. They write no more states
//     than the queue has room for: spill moves at most SLOTS / 2 states of each lane.
//   - A step of a lane finds at most two completions, and a round has at most 2^24 steps, so the 32 bits
//     of found are enough for a round.
//   - The 64 bits of a task's count are two words. An addition that wraps the lower word adds 1 to the
//     upper one. So a count needs no atomic operations of 64 bits, which some devices lack.

// A problem has at most so many rows.
#define SLOTS 32u

// Indices of the words of control. Each round has its own words. The host writes them before a
// launch and reads them afterwards.
#define NEXT 0 // states that lanes have taken from the queue, plus lanes that found none
#define SIZE 1 // states in the queue
#define BUSY 2 // not 0 if a lane has a state left at the end of the round
#define MOST 3 // the most steps of a lane; the other lanes were idle for the rest of the round
#define WORDS 4

// A round ends early if more than a quarter of the lanes are idle, so that these get states of the
// busy ones. Lanes check this every LOOK steps.
#define LOOK 128u

// What a lane keeps from launch to launch besides its saved states: their number, their task and
// their base.
typedef struct { uint depth, task, base; } Lane;

// The task of a state in the queue, and its base, which says where its rows are.
typedef struct { uint base, task; } Place;

// A row of a problem: the squares that it allows, the distance from it to the last row, and the
// columns of the problem, in each of which one of the problem's rows or a queen above it has a
// queen. The rows of a problem follow each other.
typedef struct { uint allow, toLast, columns; } Row;

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
    lanes[LANE()] = (Lane){ 0, 0, 0 };
    for (uint i = LANE(); i < 2 * tasks; i += LANES())
        counts[i] = 0;
}
