package bus

import (
	"cmp"
	"fmt"
	"regexp"

	"nqueens/pkg/run"
)

// Protocol is the version of the messages that this program writes and reads.
const Protocol = 5

// Streams and the bucket, shared by all runs on a server. Each run has a consumer of its own, with its name,
// on the stream of tasks.
const (
	tasksStream   = "NQ_TASKS"
	resultsStream = "NQ_RESULTS"
	runsBucket    = "nq_runs" // of records, by run
)

// The stream behind the bucket, and the prefix of its subjects; see NATS ADR-8.
const (
	bucketStream  = "KV_" + runsBucket
	bucketSubject = "$KV." + runsBucket + "."
)

// Subjects.
const (
	taskSubjects         = "nq.task.*"
	resultSubjects       = "nq.result.*"
	heartbeatSubjects    = "nq.hb.*"
	announcementSubjects = "nq.live.*"
)

func taskSubject(run string) string   { return "nq.task." + run }
func resultSubject(run string) string { return "nq.result." + run }

// ProgressSubject is the subject on which a run's snapshots are published.
func ProgressSubject(run string) string { return "nq.progress." + run }

func announcementSubject(run string) string { return "nq.live." + run }

// pullSubject is where the server takes requests for chunks of a run; see NATS ADR-37.
func pullSubject(run string) string {
	return "$JS.API.CONSUMER.MSG.NEXT." + tasksStream + "." + run
}

var notInToken = regexp.MustCompile(`[^0-9A-Za-z_-]`)

// heartbeatSubject turns a worker's name, which may be anything, into one short token.
func heartbeatSubject(worker string) string {
	const maxToken = 64
	token := notInToken.ReplaceAllString(worker[:min(len(worker), maxToken)], "_")
	return "nq.hb." + cmp.Or(token, "_")
}

// The server drops a message whose id it has seen within dedupWindow, so a message whose
// acknowledgement was lost can be sent again.

// chunkMessageID also identifies the message of a chunk at its sequence, see [Tasks.Has].
func chunkMessageID(run string, chunk uint64) string {
	return fmt.Sprintf("%s/%016x", run, chunk)
}

// resultMessageID begins with the connection's id: the same counts of an earlier process are
// no duplicate. A worker may publish some counts of a chunk first, and more when it gets the
// chunk again.
func (b *Bus) resultMessageID(r *run.ChunkResult) string {
	return fmt.Sprintf("%s/%s/%016x/%d/%s", b.connID, r.Run, r.Chunk, len(r.Counts), r.Worker)
}
