package core

import (
	"fmt"
	"strings"
	"testing"

	"nqueens/pkg/queens"
)

// The labels of the longest names can be shown, and are different.
func TestLongLabels(t *testing.T) {
	s := &story{t: t, out: &strings.Builder{}}
	s.run([]string{"2"})
	for machine := range 12 {
		for process := range 2 {
			s.core.WorkRequested(0, &Request{
				From: queens.Process{
					Machine: queens.Machine{User: strings.Repeat("u", queens.MaxUserBytes),
						Name: fmt.Sprint("m", machine)},
					Name: fmt.Sprint("p", process),
				},
				WorkRequest: queens.WorkRequest{Number: 1, Connection: 1, Threads: 1, Searchers: 1,
					Host: strings.Repeat("h", queens.MaxHostBytes)},
			})
		}
	}
	shot := s.core.Snapshot(0)
	if err := shot.Validate(); err != nil {
		t.Error(err)
	}
	labels := map[string]bool{}
	for _, w := range shot.WorkerList {
		labels[w.Label] = true
	}
	if len(labels) != 24 {
		t.Errorf("24 processes have %d labels", len(labels))
	}
	for of, on := range s.core.fleet.computers {
		ban := queens.Ban{Machine: queens.Machine{User: of.owner, Name: of.name}, Label: on.label}
		if err := ban.Validate(); err != nil {
			t.Error(err)
		}
	}
}
