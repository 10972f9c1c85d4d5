// Package worker asks coordinators for work, counts the tasks and delivers the results. A worker
// keeps nothing on disk.
//
// [Worker] gives a [core.Core] the messages of a [Transport] and the clock, and carries out its
// commands on its threads; package core makes all decisions.
package worker
