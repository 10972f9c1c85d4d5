// The search in which each lane searches for itself. common.cl says what states, rounds and
// launches are.
//
// Each lane searches depth first. Its stack has the states to which it returns, the deepest row on
// top. A lane without a state takes one from the queue, from any part of the tree. After a round,
// each lane saves its stack in its own column of the array saved. spill moves half of each saved
// stack to the queue.
//
// The index of a state's row is its base plus the number of its attacked columns. That is also true
// for all states below it, because each row attacks one column more. The sum may wrap.

// shifts returns two factors that shift by 0 to 31. The product with the first is the value shifted
// to the left. The upper half of the product with the second is the value shifted to the right, but
// 0 for a shift by 0. GPUs can multiply and do other operations at the same time, and the search
// has many others.
uint2 shifts(uint by)
{
    return (uint2)(1u << by, by == 0 ? 0 : 1u << (32 - by));
}

// search takes up to budget steps in each lane. A step places one queen.
KERNEL void search(GLOBAL const uint4 *queue, GLOBAL const Place *places, GLOBAL volatile uint *control,
                   GLOBAL uint4 *saved, GLOBAL Lane *lanes, GLOBAL volatile uint *counts,
                   GLOBAL const Row *allRows, uint rowCount,
                   LOCAL uint4 *rows, LOCAL uint4 *stacks, uint budget, uint round)
{
    // In local memory a row has two sets of squares, which the next row and the row after it allow.
    // It also has two shifts: to the next row, and from there to the row after it. Only the shift
    // of the last row has bit 31.
    LOCAL uint2 *const after = (LOCAL uint2 *)(rows + rowCount);
    for (uint i = MEMBER(); i < rowCount; i += MEMBERS()) {
        const Row row = allRows[i];
        uint4 all = (uint4)(0, 0, 1u << 31, 0); // of the last row
        uint2 shift = shifts(0);
        if (row.toLast != 0) {
            const Row next = allRows[i + 1];
            all = (uint4)(next.allow, next.allow, shifts(row.toLast - next.toLast));
            if (next.toLast != 0) { // there is a row after the next one
                all.y = allRows[i + 2].allow;
                shift = shifts(next.toLast - allRows[i + 2].toLast);
            }
        }
        rows[i] = all;
        after[i] = shift;
    }
    GROUP_SYNC();

    // The states of a lane's stack are width apart, so neighboring lanes use different banks of
    // local memory, whatever their depths. Below the stack is a state without free squares.
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

// spill begins the next round. If the queue is empty, spill moves half of each saved stack to the
// queue: the states of the upper rows, which have most of the tree below them.
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
