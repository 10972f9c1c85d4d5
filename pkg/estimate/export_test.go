package estimate

import (
	"testing"

	"nqueens/pkg/queens"
)

// What tests see of simulations.
type (
	Simulation = simulation
	TaskClass  = taskClass
	Outcome    = outcome
)

// TaskSpread is how much the tasks of a simulation differ.
const TaskSpread = taskSpread

// TaskClasses returns the classes of a simulation of a count with the given plans.
func (t *TreeEstimate) TaskClasses(tb testing.TB, plans []queens.ClassPlan, seconds float64) []TaskClass {
	tb.Helper()
	set, err := t.tasks(tb.Context(), plans)
	if err != nil {
		tb.Fatal(err)
	}
	return t.taskClasses(plans, &set, seconds)
}
