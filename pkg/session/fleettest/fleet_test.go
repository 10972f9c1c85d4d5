// Package fleettest tests coordinators and workers together under a fake clock, with a server in memory that
// fails, as processes start, die and return. It has tests only.
package fleettest

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"testing/synctest"
)

// lives is the number of lives of a fleet that TestFleet plays.
var lives = flag.Int("lives", 15, "the number of lives of a fleet that TestFleet plays, a third of them with -short; SEED repeats one of them")

// Whatever happens to the processes of a run and to its server, and whatever fewer voters than the run needs
// lie: once faults have stopped, and as many honest workers are there as the run needs, the run ends within
// endsWithin with the published total. No honest worker is quarantined.
func TestFleet(t *testing.T) {
	number := *lives
	if testing.Short() {
		number = (number + 2) / 3
	}
	seeds := make([]uint64, number)
	for i := range seeds {
		seeds[i] = rand.Uint64()
	}
	text, repeats := os.LookupEnv("SEED")
	if repeats {
		seed, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatalf("SEED=%q: it must be a number from 0 to 2^64-1", text)
		}
		seeds = []uint64{seed}
	}
	for _, seed := range seeds {
		t.Run(fmt.Sprint("SEED=", seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l := newLife(t, seed)
				l.told = repeats
				l.play()
			})
		})
	}
}
