package queens

import (
	"math/big"
	"time"
)

// Snapshot is the state of a run at one moment, for people to look at, here and from
// elsewhere. Nothing is decided by it.
type Snapshot struct {
	Run      string
	N        int
	Symmetry Symmetry
	Placed   int // Queens that were placed beforehand.
	State    State
	Total    *big.Int // nil unless State is Complete.

	Done, Tasks uint64
	Work        float64  // Share of the estimated work that is done, 0 to 1; 1 when all is.
	Solutions   *big.Int // Found so far, weighted: grows up to the total. Not nil.
	Rate        float64  // Solutions a second, of late.
	Elapsed     time.Duration
	ETA         Range // Time yet to go; zero while it can't be told.
	Workers     int   // Heard of within the last seconds.
	Threads     int   // Of those workers together.
	Repeated    uint64
	Conflicts   int // Tasks whose results contradicted each other, settled or not.

	// Crew are the workers, by name; where there are more than [MaxCrew], those that have
	// held a task the longest.
	Crew []CrewMember
}

// MaxCrew is the greatest number of workers that a snapshot has one by one.
const MaxCrew = 256

// CrewMember is a worker in a [Snapshot].
type CrewMember struct {
	Name    string
	Kernel  string
	Threads int
	Rate    float64       // Solutions a second, in its last tasks; zero before the first.
	Held    int           // Tasks that it searches.
	Oldest  time.Duration // How long it has searched the oldest of those.
}

// Range is a time that can't be told exactly.
type Range struct{ Least, Most time.Duration }
