package main

import (
	"testing"

	"nqueens/pkg/queens"
)

// What others say of themselves commands no terminal.
func TestWhereIsPrintable(t *testing.T) {
	r := runRow{Server: "nats://a:4222", Owner: "evil\x1b[2J\tmachine\n, process 7", Placed: []queens.Square{{Row: 0, Column: 3}, {Row: 2, Column: 0}}}
	if got, want := r.where(), "nats://a:4222, evil?[2J?machine?, process 7, queens placed on 0,3 2,0"; got != want {
		t.Errorf("where is %q, want %q", got, want)
	}
}
