package run

import (
	"fmt"

	"nqueens/pkg/queens"
)

// Difference is a task for which a recount contradicts the accepted result.
type Difference struct {
	Task uint64 `json:"task"`
	// Count is the accepted count, and Worker, Key and Kernel say who counted it. Key is empty for the
	// coordinator's own counts.
	Count  uint64 `json:"count,string"`
	Worker string `json:"worker"`
	Key    string `json:"key"`
	Kernel string `json:"kernel"`
	// OtherTask says that the accepted result has the hash of another task. Then the counts may be equal.
	OtherTask bool `json:"other_task"`
	// Recount is the count of the recount, and RecountKernel the kernel that made it.
	Recount       uint64 `json:"recount,string"`
	RecountKernel string `json:"recount_kernel"`
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
