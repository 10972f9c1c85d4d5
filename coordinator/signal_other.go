//go:build !unix

package main

import "os"

// statusSignals ask for a line of progress; there is none that could.
var statusSignals []os.Signal
