// Package worker asks coordinators for work, counts the tasks and delivers the results. A worker keeps nothing on disk.
//
// [Core] decides; it has no I/O, goroutine or clock, and the stories in testdata say what it does. [Worker] gives it the
// messages of a [Transport], the threads and the clock.
package worker
