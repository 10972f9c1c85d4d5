package run

import (
	"fmt"

	"nqueens/pkg/queens"
)

// Difference is a task for which a recount contradicts the accepted result.
type Difference struct {
	Task   uint64 `json:"task"`         // the task
	Count  uint64 `json:"count,string"` // the accepted count
	Worker string `json:"worker"`       // who counted it
	Key    string `json:"key"`          // its key; empty for a count of the coordinator
	Kernel string `json:"kernel"`       // the kernel of that count
	// the accepted result has the hash of another task: the counts may be equal
	OtherTask     bool   `json:"other_task"`
	Recount       uint64 `json:"recount,string"` // the count of the recount
	RecountKernel string `json:"recount_kernel"` // the kernel of the recount
}

// String names the task, both counts, the worker and the kernels, on one line for a terminal.
func (d *Difference) String() string {
	worker := queens.SanitizeName(d.Worker)
	if d.OtherTask {
		return fmt.Sprintf("the result of task %d by %s is of another task", d.Task, worker)
	}
	return fmt.Sprintf("task %d was counted %d by %s (%s), kernel %s counts %d",
		d.Task, d.Count, worker, queens.SanitizeName(d.Kernel), d.RecountKernel, d.Recount)
}
