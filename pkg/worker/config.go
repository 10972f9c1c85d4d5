package worker

import (
	"strings"
	"time"

	"github.com/rs/zerolog"

	"nqueens/pkg/kernel"
	"nqueens/pkg/queens"
)

// Config configures a [Worker].
type Config struct {
	Name string // Unique among the workers of a cluster, for people.
	// Identity signs the results. Coordinators know the worker by its key.
	Identity Identity
	// Admission proves to coordinators that the join token admitted the key; it may be empty.
	Admission []byte
	// Counted remembers the tasks counted under the key. Workers that share the key share it; nil
	// means that this worker has the key for itself.
	Counted *CountedTasks

	Version string        // Version of the program.
	Kernel  kernel.Kernel // Of the threads.
	Threads int           // Chunks that the CPU searches at once, at least 1 if there is no device.
	Devices []Device      // Beside the threads.
	// Lease is how long the queue lends a chunk before the lease must be extended.
	Lease time.Duration
	// Grace is how long searches and reports may continue when the worker is stopped.
	Grace time.Duration
	// IdleExit is how long the worker stays without a chunk; 0 means for ever.
	IdleExit time.Duration
	// Pause, unless nil, returns why the worker pauses, or an empty text if it counts. One goroutine calls it,
	// before the worker takes a chunk and then every half second.
	Pause func() (reason string)
	// ReportEvery is the time between log lines that say what the worker does; 0 means none.
	ReportEvery time.Duration
	Log         zerolog.Logger
}

// AllThreads returns the number of threads, where devices count as several.
func (c *Config) AllThreads() int {
	threads := c.Threads
	for _, d := range c.Devices {
		threads += d.Threads
	}
	return threads
}

// Kernels returns the names of all kernels, for people.
func (c *Config) Kernels() string {
	var names []string
	for _, d := range c.Devices {
		names = append(names, d.Kernel.Name)
	}
	if c.Threads > 0 {
		names = append(names, c.Kernel.Name)
	}
	return queens.SanitizeName(strings.Join(names, ","))
}

// Values for a [Config].
const (
	// DefaultGrace lets short searches finish, and is short enough for a person at a prompt.
	DefaultGrace = time.Second
	// DefaultReportEvery keeps the log of a day short.
	DefaultReportEvery = 30 * time.Second
)
