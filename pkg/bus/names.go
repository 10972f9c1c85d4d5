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

// Subjects.
const (
	taskSubjects      = "nq.task.*"
	resultSubjects    = "nq.result.*"
	heartbeatSubjects = "nq.hb.*"
)

func taskSubject(run string) string   { return "nq.task." + run }
func resultSubject(run string) string { return "nq.result." + run }

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
// acknowledgement was lost. A task that is published anew has another attempt, so
// another id: nothing that is meant to arrive is ever dropped.

func taskMessageID(t *queens.Task) string {
	return fmt.Sprintf("%s/%d/%d", t.Run, t.ID, t.Attempt)
}

func resultMessageID(r *queens.Result) string {
	return fmt.Sprintf("%s/%d/%d/%s", r.Run, r.Task, r.Attempt, r.Worker)
}
