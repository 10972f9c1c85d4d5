//go:build !unix

package main

import "os"

// statusSignals would request a log line of progress; this system has no signal for it.
var statusSignals []os.Signal
