package bus

import (
	"cmp"
	"fmt"
	"regexp"

	"nqueens/pkg/queens"
)

// Protocol is the version of the messages that this program writes and reads.
const Protocol = 1

// Streams, the workers' consumer and the bucket, shared by all runs on a server.
const (
	tasksStream    = "NQ_TASKS"
	resultsStream  = "NQ_RESULTS"
	workerConsumer = "workers"
	runsBucket     = "nq_runs" // of records, by run
)

// The stream behind the bucket, and the prefix of its subjects; see NATS ADR-8.
const (
	bucketStream  = "KV_" + runsBucket
	bucketSubject = "$KV." + runsBucket + "."
)

// Subjects.
const (
	taskSubjects      = "nq.task.*"
	resultSubjects    = "nq.result.*"
	heartbeatSubjects = "nq.hb.*"
)

func taskSubject(run string) string     { return "nq.task." + run }
func resultSubject(run string) string   { return "nq.result." + run }
func progressSubject(run string) string { return "nq.progress." + run }

var notInToken = regexp.MustCompile(`[^0-9A-Za-z_-]`)

// heartbeatSubject turns a worker's name, which may be anything, into one short token.
func heartbeatSubject(worker string) string {
	const maxToken = 64
	token := notInToken.ReplaceAllString(worker[:min(len(worker), maxToken)], "_")
	return "nq.hb." + cmp.Or(token, "_")
}

// The server drops a message whose id it has seen within dedupWindow, so a message whose
// acknowledgement was lost can be sent again. Ids begin with the connection's id: the
// same task, published by an earlier process of the run's coordinator, is no duplicate.
// A task that this connection publishes again must have another attempt.

func (b *Bus) taskMessageID(t *queens.Task) string {
	return fmt.Sprintf("%s/%s/%d/%d", b.connID, t.Run, t.ID, t.Attempt)
}

func (b *Bus) resultMessageID(r *queens.Result) string {
	return fmt.Sprintf("%s/%s/%d/%d/%s", b.connID, r.Run, r.Task, r.Attempt, r.Worker)
}
