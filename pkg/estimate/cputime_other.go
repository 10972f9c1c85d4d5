//go:build !unix

package estimate

import "time"

// processTime returns that it is not known for how long this process has run.
func processTime() (ran time.Duration, known bool) { return 0, false }
