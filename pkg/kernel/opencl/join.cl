// The join of package halves: it counts the pairs of half-boards that have no diagonal in common.
// docs/halves.md explains it. No GPU has run this file yet.
//
// A work-group joins one unit. Its bin has 32 masks in each of WORDS words, and each lane has one of
// these words. The bits of a mask are cut into groups. A table for each group has a row for each value
// of its bits: bit i of word w stands for mask i of this word, and is set if the mask has none of the
// bits of the value. The lanes of a warp intersect the rows for a streamed mask, each lane in its word.
// The warps of the work-group take turns to take a streamed mask.

#define WORDS 32u

// The most bits of a group.
#define MOST 7u

// As Unit in package halves.
typedef struct { uint from[2], to[2], first, free, size, bits; } Unit;

// What a unit finds, and a number that is different for each unit of each launch.
typedef struct { ulong pairs, stamp; } Found;

// tablesFor returns the number of tables for masks of so many bits, in groups of width.
uint tablesFor(uint bits, uint width) { return (bits + width - 1) / width; }

// rowsFor returns how many rows these tables have.
uint rowsFor(uint bits, uint width) { return tablesFor(bits, width) << width; }

// wordsFor returns how many words have room for so many masks: an even number, as on the host.
uint wordsFor(uint number) { return 2 * ((number + 63) / 64); }

// join joins the units of a launch. All masks are in one array: the binned ones that count once, those
// that count twice, from the index binnedTwice on, and the streamed ones in the same order. There are
// one or two lists of streamed masks, and two arrays of cells, of the given length: see Lists in
// package halves. In local memory there is room for so many rows.
KERNEL void join(GLOBAL const ulong *masks, GLOBAL const uint *cells, GLOBAL const Unit *units,
                 GLOBAL Found *found, uint binnedTwice, uint streamedOnce, uint streamedTwice,
                 uint lists, uint cellCount, LOCAL ulong *sums, uint room, uint launch)
{
    const Unit unit = units[GROUP()];
    LOCAL uint *const rows = (LOCAL uint *)sums;
    const uint word = MEMBER() % WORDS, warp = MEMBER() / WORDS, warps = MEMBERS() / WORDS;

    // Larger groups make fewer tables, but more rows.
    uint width = MOST;
    while (rowsFor(unit.bits, width) > room)
        width--;
    const uint tables = tablesFor(unit.bits, width);

    // The first words have the masks that count once. Mask number i * words + w of a list is mask i of
    // its word w, so that neighboring lanes read neighboring masks.
    const uint once = wordsFor(unit.to[0] - unit.from[0]), twice = word >= once ? 1 : 0;
    const uint number = unit.to[twice] - unit.from[twice], words = max(wordsFor(number), 1u);
    const uint first = twice ? word - once : word;
    const uint here = first < words && first < number ? (number - first + words - 1) / words : 0;
    GLOBAL const ulong *const binned =
        masks + (twice ? binnedTwice : 0) + unit.from[twice] + first;
    for (uint table = warp; table < tables; table += warps) {
        LOCAL uint *const row = rows + (table << width) * WORDS + word;
        row[0] = here == 32 ? ~0u : (1u << here) - 1;
        for (uint bit = 0; bit < width; bit++) {
            uint with = 0;
            for (uint i = 0; i < here; i++)
                with |= ((uint)(binned[i * words] >> (table * width + bit)) & 1) << i;
            for (uint value = 0; value < 1u << bit; value++)
                row[(value + (1u << bit)) * WORDS] = row[value * WORDS] & ~with;
        }
    }
    GROUP_SYNC();

    ulong sum = 0;
    const uint last = (1u << width) - 1;
    for (uint list = 0; list < lists; list++) {
        GLOBAL const ulong *const streamed = masks + (list == 0 ? streamedOnce : streamedTwice);
        GLOBAL const uint *const cell = cells + list * cellCount + unit.first;
        uint pairs = 0, value = 0;
        do { // for each set of the bits of free
            const uint end = cell[value + unit.size];
            for (uint i = cell[value] + warp; i < end; i += warps) {
                const ulong mask = streamed[i];
                uint fits = ~0u;
                for (uint table = 0; table < tables; table++) {
                    const uint at = (table << width) + ((uint)(mask >> (table * width)) & last);
                    fits &= rows[at * WORDS + word];
                }
                pairs += COUNT(fits);
            }
            value = (value - unit.free) & unit.free;
        } while (value != 0);
        sum += (ulong)pairs << list;
    }

    // The rows are of no use any more, so their memory takes the sums of the lanes.
    sum <<= twice;
    GROUP_SYNC();
    sums[MEMBER()] = sum;
    GROUP_SYNC();
    if (MEMBER() == 0) {
        for (uint i = 1; i < MEMBERS(); i++)
            sum += sums[i];
        found[GROUP()].pairs = sum;
        found[GROUP()].stamp = (ulong)launch << 32 | GROUP();
    }
}
