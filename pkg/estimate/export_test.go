package estimate

import (
	"context"

	"nqueens/pkg/queens"
)

// What tests see of simulations.
type (
	Simulation = simulation
	TaskClass  = taskClass
	Outcome    = outcome
	Effort     = effort
)

// Schedule returns the classes of a simulation of a count with the given plans.
func (t *TreeEstimate) Schedule(ctx context.Context, plans []queens.ClassPlan, seconds float64, e Effort, threads int) ([]TaskClass, error) {
	set, err := t.tasks(ctx, plans)
	if err != nil {
		return nil, err
	}
	return t.schedule(ctx, plans, &set, seconds, e, threads)
}
