package bus

import (
	"fmt"
	"strings"

	"nqueens/pkg/queens"
)

// Protocol is the version of the messages that this program writes and reads.
const Protocol = 1

// Streams and the consumer, shared by all runs on a server.
const (
	tasksStream    = "NQ_TASKS"
	resultsStream  = "NQ_RESULTS"
	workerConsumer = "workers"
)

// runsBucket is the bucket of keys and values with the records of runs, by run.
const runsBucket = "nq_runs"

// Subjects.
const (
	taskSubjects      = "nq.task.*"
	resultSubjects    = "nq.result.*"
	heartbeatSubjects = "nq.hb.*"
)

func taskSubject(run string) string     { return "nq.task." + run }
func resultSubject(run string) string   { return "nq.result." + run }
func progressSubject(run string) string { return "nq.progress." + run }

// heartbeatSubject makes one short token of a worker's name, which may be anything.
func heartbeatSubject(worker string) string {
	const most = 64
	token := strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '-' || r == '_' {
			return r
		}
		return '_'
	}, worker[:min(len(worker), most)])
	if token == "" {
		token = "_"
	}
	return "nq.hb." + token
}

// Message ids let the server drop a message that was sent twice because its
// acknowledgement was lost, for as long as it remembers the first. They begin with the
// salt of the connection, so nothing is taken for what another process has sent, such
// as the same task by the run's coordinator before it was started again. A task that
// this connection publishes anew must have another attempt.

func (b *Bus) taskMessageID(t *queens.Task) string {
	return fmt.Sprintf("%s/%s/%d/%d", b.salt, t.Run, t.ID, t.Attempt)
}

func (b *Bus) resultMessageID(r *queens.Result) string {
	return fmt.Sprintf("%s/%s/%d/%d/%s", b.salt, r.Run, r.Task, r.Attempt, r.Worker)
}
