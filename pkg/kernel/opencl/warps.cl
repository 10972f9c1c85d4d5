// The search in which the lanes of a warp search together. common.cl says what states, rounds and
// launches are.
//
// A warp is a work-group of 32 lanes. For each row it has a queue of states that need a queen
// there. In a step each lane takes a state of one row, puts a queen on its lowest free square, and
// returns the state to the queue if it has other free squares. The new states go to the queue of
// the next row. So all lanes of a warp are in the same row, make the same tests, and take no
// different branches. The tests are those of the kernels for CPUs: docs/kernels.md, Pruning.
//
// Each step takes states from the lowest row that has a state for each lane, or else from the
// topmost row with states. A row has fewer than 32 states when the row above it takes a step, so no
// queue has more than 63. A warp that has no state takes 32 states of one task and one row from the
// queue that all warps share. So NEXT and SIZE count groups of 32 states. In a group, states
// without a free square fill up the end.
//
// Rows are numbered by the rows below them: row 0 is the last row of a problem. The queues of the
// lowest rows are in local memory. The others, which have few of the steps, are in the array saved.
// After a round, all are there. spill moves the states of the upper half of a warp's rows to the
// queue.
//
// The base of a warp or of a group is the index of the last row of its problem. depth of lane i is
// the number of the warp's states in row i.

#define WIDTH 32u // lanes of a warp
#define ROOM 64u  // states of a row

// LAST is the lowest row in which a step puts a queen. The completions of its two lower rows are
// counted at once.
#define LAST 2u

// GROUP_SYNC for the array saved, too.
#define SAVED_SYNC() barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)

// ballots returns two words. In each of them, bit i is what lane i says. All lanes of a warp must
// call it together.
#ifdef WARP_VOTES // set by the host if the device is NVIDIA's
uint vote(bool says)
{
    uint all;
    __asm__ volatile("{ .reg .pred p; setp.ne.u32 p, %1, 0; vote.sync.ballot.b32 %0, p, 0xffffffff; }"
                     : "=r"(all) : "r"((uint)says) : "memory");
    return all;
}
uint2 ballots(LOCAL volatile uint *votes, bool first, bool second)
{
    return (uint2)(vote(first), vote(second));
}
#else
uint2 ballots(LOCAL volatile uint *votes, bool first, bool second)
{
    GROUP_SYNC();
    if (MEMBER() == 0)
        votes[0] = votes[1] = 0;
    GROUP_SYNC();
    UNITE(&votes[0], (uint)first << MEMBER());
    UNITE(&votes[1], (uint)second << MEMBER());
    GROUP_SYNC();
    return (uint2)(votes[0], votes[1]);
}
#endif

// unattacked returns the squares of row `to` that row allows and a state of row `from` does not
// attack.
uint unattacked(LOCAL const uint2 *rows, uint from, uint to, uint cols, uint left, uint right)
{
    const uint distance = rows[from].y - rows[to].y;
    return rows[to].x & ~(cols | left << distance | right >> distance);
}

// completable reports whether tests leave a state of row k - 1. next has its free squares. columns
// are those of the problem.
bool completable(LOCAL const uint2 *rows, uint k, uint cols, uint left, uint right, uint next, uint columns)
{
    const uint from = k - 1, after = unattacked(rows, from, k - 2, cols, left, right);
    if (next == 0 || after == 0)
        return false;
#define UNATTACKED(row) unattacked(rows, from, row, cols, left, right)
    switch (k) {
    case 3:
        return UNATTACKED(0) != 0;
    case 4: // also in every column without a queen
        return (columns & ~(cols | next | after | UNATTACKED(1) | UNATTACKED(0))) == 0;
    case 5:
        return UNATTACKED(2) != 0 && UNATTACKED(1) != 0 && UNATTACKED(0) != 0;
    case 6: case 7: case 8: case 9:
        return UNATTACKED(0) != 0;
    }
    return true;
}

// GET and PUT read and write state i of row k. The states of the lowest rows are in local memory.
#define QUEUE(k, i) ((k) * ROOM + (i))
#define GET(k, i) ((k) < outside ? states[QUEUE((k) - LAST, i)] : saved[QUEUE(k, i)])
#define PUT(k, i, s)                             \
    {                                            \
        if ((k) < outside)                       \
            states[QUEUE((k) - LAST, i)] = s;    \
        else                                     \
            saved[QUEUE(k, i)] = s;              \
    }

// search takes up to budget steps in each warp. A step puts a queen in each lane. The queues of the
// first `inside` rows from LAST on are in local memory, in states. All conditions of loops are the
// same in all lanes of a warp, and no barrier is in a branch.
KERNEL __attribute__((reqd_work_group_size(WIDTH, 1, 1)))
void search(GLOBAL const uint4 *queue, GLOBAL const Place *places, GLOBAL volatile uint *control,
            GLOBAL uint4 *saved, GLOBAL Lane *lanes, GLOBAL volatile uint *counts,
            GLOBAL const Row *allRows, uint inside,
            LOCAL uint2 *rows, LOCAL uint4 *states, uint budget, uint round)
{
    LOCAL uint numbers[SLOTS]; // of states in each row
    LOCAL uint votes[2], shared[2];
    const uint lane = MEMBER(), warp = LANE() / WIDTH, warps = LANES() / WIDTH, lower = (1u << lane) - 1;
    const uint outside = min(LAST + inside, SLOTS); // the first row whose queue is in saved
    saved += warp * SLOTS * ROOM;

    // The rows of the problem: allowed squares, and distance to the last row.
    uint task = lanes[LANE()].task, last = lanes[LANE()].base;
    numbers[lane] = lanes[LANE()].depth;
    if (lane <= last)
        rows[lane] = (uint2)(allRows[last - lane].allow, allRows[last - lane].toLast);
    uint columns = allRows[last].columns;
    GROUP_SYNC();
    uint some = 0, full = 0; // rows with states, and rows with a state for each lane
    for (uint k = LAST; k < SLOTS; k++) {
        some |= (uint)(numbers[k] != 0) << k;
        full |= (uint)(numbers[k] >= WIDTH) << k;
        if (k < outside)
            for (uint i = lane; i < numbers[k]; i += WIDTH)
                states[QUEUE(k - LAST, i)] = saved[QUEUE(k, i)];
    }

    uint found = 0, step = 0;
    bool more = true;
    control += round * WORDS;
    const uint size = control[SIZE];
    while (more) {
        GROUP_SYNC();
        if (lane == 0) {
            shared[0] = control[NEXT];
            shared[1] = 0;
            if (some == 0 && shared[0] <= size + warps / 4)
                shared[1] = ADD(&control[NEXT], 1u);
        }
        GROUP_SYNC();
        const uint group = shared[1], end = min(step + LOOK, budget);
        more = shared[0] <= size + warps / 4 && (some != 0 || group < size);
        if (more && some == 0) { // take the next group of states
            add(counts, task, found);
            found = 0;
            task = places[group].task;
            last = places[group].base;
            columns = allRows[last].columns;
            if (lane <= last)
                rows[lane] = (uint2)(allRows[last - lane].allow, allRows[last - lane].toLast);
            const uint k = COUNT(columns & ~queue[group * WIDTH].x) - 1;
            const uint4 s = queue[group * WIDTH + lane];
            PUT(k, lane, s)
            if (s.w != 0 && (lane == WIDTH - 1 || queue[group * WIDTH + lane + 1].w == 0))
                numbers[k] = lane + 1;
            some = 1u << k;
            full = 0; // the topmost row is next anyway
        }
        SAVED_SYNC();
        while (more && some != 0 && step < end) {
            step++;
            const uint k = full != 0 ? COUNT((full & -full) - 1) : 31 - ZEROS(some);
            const uint here = numbers[k], below = numbers[k - 1], taken = min(here, WIDTH);
            uint4 s = (uint4)(0);
            if (lane < taken)
                s = GET(k, here - 1 - lane);
            const uint queen = s.w & -s.w, gap = rows[k].y - rows[k - 1].y;
            const uint cols = s.x | queen, left = (s.y | queen) << gap, right = (s.z | queen) >> gap;
            const uint next = rows[k - 1].x & ~(cols | left | right);
            bool kept = false;
            if (k > LAST)
                kept = queen != 0 && completable(rows, k, cols, left, right, next, columns);
            else {
                // Two columns have no queen. If the squares left in both rows cover them and are
                // not on a diagonal, there are two completions if both rows leave both squares, and
                // else one.
                const uint two = columns & ~cols, after = unattacked(rows, 1, 0, cols, left, right);
                if (queen != 0 && next != 0 && after != 0 && (next | after) == two && (two & two << rows[1].y) == 0)
                    found += next == after ? 2 : 1;
            }
            s.w ^= queen;
            const uint2 with = ballots(votes, s.w != 0, kept);
            SAVED_SYNC(); // all lanes have their states
            const uint stay = here - taken + COUNT(with.x), go = below + COUNT(with.y);
            if (s.w != 0)
                PUT(k, here - taken + COUNT(with.x & lower), s)
            if (kept)
                PUT(k - 1, below + COUNT(with.y & lower), ((uint4)(cols, left, right, next)))
            if (lane == 0) {
                numbers[k] = stay;
                numbers[k - 1] = go;
            }
            const uint both = ~(3u << (k - 1));
            some = (some & both) | (uint)(stay != 0) << k | (uint)(go != 0) << (k - 1);
            full = (full & both) | (uint)(stay >= WIDTH) << k | (uint)(go >= WIDTH) << (k - 1);
            SAVED_SYNC();
        }
        more = more && step < budget;
    }
    add(counts, task, found);

    for (uint k = LAST; k < outside; k++)
        for (uint i = lane; i < numbers[k]; i += WIDTH)
            saved[QUEUE(k, i)] = states[QUEUE(k - LAST, i)];
    lanes[LANE()].depth = numbers[lane];
    lanes[LANE()].task = task;
    lanes[LANE()].base = last;
    if (numbers[lane] != 0)
        control[BUSY] = 1;
    if (lane == 0 && step > control[MOST])
        RAISE(&control[MOST], step);
}

// spill begins the next round. If the queue is empty, spill moves states of each warp to the queue:
// those of the upper half of its rows, which have most of the tree below them.
KERNEL __attribute__((reqd_work_group_size(WIDTH, 1, 1)))
void spill(GLOBAL uint4 *queue, GLOBAL Place *places, GLOBAL volatile uint *control,
           GLOBAL uint4 *saved, GLOBAL Lane *lanes, uint round)
{
    LOCAL uint numbers[SLOTS], shared;
    const uint lane = MEMBER(), warp = LANE() / WIDTH;
    GLOBAL volatile uint *const now = control + round * WORDS, *const then = now + WORDS;
    const bool empty = now[NEXT] >= now[SIZE];
    if (!empty && LANE() == 0) {
        then[NEXT] = now[NEXT];
        then[SIZE] = now[SIZE];
    }
    saved += warp * SLOTS * ROOM;
    numbers[lane] = lanes[LANE()].depth;
    GROUP_SYNC();
    uint rows = 0, groups = 0, lowest = SLOTS; // moved are the rows from lowest on
    for (uint k = LAST; k < SLOTS; k++)
        rows += numbers[k] != 0;
    rows = empty ? (rows + 1) / 2 : 0;
    for (uint k = SLOTS - 1; rows > 0; k--) {
        const uint more = (numbers[k] + WIDTH - 1) / WIDTH;
        if (groups + more > SLOTS / 2) // the queue may have no room for them
            break;
        groups += more;
        rows -= numbers[k] != 0;
        lowest = k;
    }
    if (lane == 0)
        shared = groups > 0 ? ADD(&then[SIZE], groups) : 0;
    GROUP_SYNC();
    uint at = shared;
    for (uint k = SLOTS - 1; k >= lowest; k--) {
        for (uint first = 0; first < numbers[k]; first += WIDTH, at++) {
            queue[at * WIDTH + lane] = first + lane < numbers[k] ? saved[QUEUE(k, first + lane)] : (uint4)(0);
            if (lane == 0) {
                places[at].base = lanes[LANE()].base;
                places[at].task = lanes[LANE()].task;
            }
        }
    }
    if (lane >= lowest)
        lanes[LANE()].depth = 0;
}
