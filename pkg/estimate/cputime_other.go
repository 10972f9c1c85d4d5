//go:build !unix

package estimate

import "time"

// processTime returns that the CPU time is not known.
func processTime() (ran time.Duration, known bool) { return 0, false }
