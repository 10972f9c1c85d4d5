package estimate

import (
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
	"nqueens/pkg/schedule"
)

// What a run costs beside its searches, in seconds of CPU. scripts/bench loads measures the first
// six, on one machine: chunks of one task for 10,000 simulated threads, and large chunks of tasks
// that cost nothing. docs/dev/benchmarks.md has its figures.
const (
	// loopTask and loopChunk are of the coordinator's event loop, which is one thread: for each
	// task, and for each chunk with its transaction of the ledger.
	loopTask, loopChunk = 4.6e-6, 25e-6
	// restTask and restChunk are of the coordinator's other threads.
	restTask, restChunk = 3.4e-6, 14e-6
	// serverTask and serverChunk are of the server.
	serverTask, serverChunk = 0.9e-6, 43e-6
	// serverWorker is of the server for each worker and second: its announcements, heartbeats and waiting
	// requests, as scripts/bench fleet measures of workers without tasks.
	serverWorker = 20e-6
	// serverCores is the number of cores of the server: as many as where that was measured.
	serverCores = 2
)

// What a run needs of memory, in bytes. coordinatorChunk and coordinatorTask were measured with windows
// of chunks of one task and of many, before decision 52 divided the coordinator.
const (
	coordinatorBase  = 32 << 20
	ledgerTask       = 1 + 1./8 // whether a task is accepted, and how many voters support its count
	coordinatorChunk = 320      // in flight
	coordinatorTask  = 110      // in flight, beyond the first of its chunk
	// heapFactor is the size of a heap relative to what is in use: the collector's default.
	heapFactor = 2
)

const (
	// chunkMessages is the number of messages of a chunk: it is published, requested, delivered and
	// acknowledged, and its result is published and delivered; three of these are replied to.
	chunkMessages = 9
	// workerMessages is the number of messages a second of a worker: a heartbeat every 3 s to the
	// server and from there to the coordinator, and an announcement every 2 s.
	workerMessages = 2./3 + 1./2
	// fetchSeconds is the time from a request for a chunk to its arrival.
	fetchSeconds = 2e-3
)

// Parts are the times that the parts of a run would take alone, in seconds. [run.Bottleneck] explains them.
type Parts struct {
	Search   float64 `json:"search"` // If no thread ever waited.
	Tail     float64 `json:"tail"`   // Beyond the search.
	Messages float64 `json:"messages"`
	Ledger   float64 `json:"ledger"`
	Window   float64 `json:"window"` // Beyond the search.
	Planning float64 `json:"planning"`
	Start    float64 `json:"start"`
}

// bottleneck returns the greatest part.
func (p *Parts) bottleneck() run.Bottleneck {
	bound, most := run.BySearch, p.Search
	for _, c := range []struct {
		bound run.Bottleneck
		part  float64
	}{{run.ByTail, p.Tail}, {run.ByMessages, p.Messages}, {run.ByLedger, p.Ledger}, {run.ByWindow, p.Window}, {run.ByPlanning, p.Planning}, {run.ByStart, p.Start}} {
		if c.part > most {
			bound, most = c.bound, c.part
		}
	}
	return bound
}

// Fleet is what a count asks of coordinator, server and ledger while its threads search.
type Fleet struct {
	Waiting          float64        `json:"waiting"`           // share of time for which threads have no task
	Chunks           float64        `json:"chunks"`            // number of chunks in which the tasks travel
	ChunkRate        float64        `json:"chunks_per_s"`      // chunks a second
	TaskRate         float64        `json:"tasks_per_s"`       // results a second that the ledger records
	MessageRate      float64        `json:"messages_per_s"`    // messages a second
	WindowChunks     float64        `json:"window_chunks"`     // chunks in flight, in the middle of the run
	WindowBytes      float64        `json:"window_bytes"`      // size of their messages on the server
	CoordinatorBytes float64        `json:"coordinator_bytes"` // memory of the coordinator
	CoordinatorCores float64        `json:"coordinator_cores"` // cores that the coordinator keeps busy
	ServerCores      float64        `json:"server_cores"`      // cores that the server keeps busy
	Parts            Parts          `json:"parts"`             // seconds of each part of a run
	Bottleneck       run.Bottleneck `json:"bottleneck"`        // the longest of these parts

	took float64 // seconds of the searches, with all waiting
}

// Bounds of a simulation: beyond these, a part of the fleet is simulated with a part of the tasks,
// but not fewer threads than minSimulated.
const (
	maxSimulated = 1 << 20 // tasks
	minSimulated = 1 << 10 // threads
)

// taskClasses returns the classes of a simulation of a count with the given plans and tasks, whose searches take the
// given time.
func (t *TreeEstimate) taskClasses(plans []queens.ClassPlan, set *taskSet, seconds float64) []taskClass {
	classes := make([]taskClass, len(plans))
	for i, tasks := range set.perClass {
		classes[i] = taskClass{
			Tasks: int(tasks), Mean: t.workShares[i] * seconds / max(float64(tasks), 1),
			Most: max(1, min(schedule.MaxChunkBytes/(schedule.PrefixBytes*plans[i].Batch), run.MaxChunk)),
		}
	}
	return classes
}

// fleet simulates a count of all copies of the tasks, whose searches take core seconds.
func (t *TreeEstimate) fleet(plans []queens.ClassPlan, once *taskSet, core float64, job *Job) (f Fleet) {
	set := once.times(job.Copies)
	classes := t.taskClasses(plans, set, core)
	threads, tasks := job.fleetThreads(), float64(set.number)
	f.Parts = Parts{
		Search:   core / float64(threads),
		Ledger:   tasks * loopTask,
		Planning: once.prefixes * prefixSeconds,
		Start:    startStopSeconds,
	}
	simulate := func(threads int, service float64) outcome {
		s := simulation{
			Classes: classes, Threads: threads, Parts: schedule.ChunksLeft, Longest: schedule.MaxChunkSeconds,
			Latency: fetchSeconds, Service: service, Spread: taskSpread,
		}
		k := max(1, min(int(set.number/maxSimulated), threads/minSimulated))
		if k > 1 {
			s = s.Scaled(k)
		}
		got := s.Run()
		got.Chunks *= k
		return got
	}
	if set.number == 0 || core <= 0 {
		f.took, f.Bottleneck = f.Parts.Search, f.Parts.bottleneck()
		return f
	}
	free := simulate(threads, 0)
	f.Chunks = float64(free.Chunks)
	bytes := schedule.PrefixBytes * set.prefixes / f.Chunks
	f.WindowChunks = min(float64(schedule.Window(threads, core/f.Chunks, bytes)), f.Chunks)
	f.WindowBytes = f.WindowChunks * bytes
	busy := min(threads, int(f.WindowChunks))
	f.Parts.Tail = f.Parts.Search * free.Loss()
	f.Parts.Messages = f.Chunks * serverChunk / serverCores
	if busy < threads && free.Chunks > busy {
		f.Parts.Window = core/float64(busy) - f.Parts.Search
	}
	loaded := simulate(busy, serverChunk/serverCores)
	took := max(core/float64(busy)*(1+loaded.Loss()), f.Parts.Ledger)
	f.took, f.Waiting = took, 1-f.Parts.Search/took
	f.Bottleneck = f.Parts.bottleneck()
	f.rates(tasks, took, job.Workers)
	f.CoordinatorBytes = coordinatorBase + heapFactor*(float64(once.number)*ledgerTask+
		f.WindowChunks*(coordinatorChunk+max(tasks/f.Chunks-1, 0)*coordinatorTask))
	return f
}

// rates fills in what follows from the time of the searches with all waiting.
func (f *Fleet) rates(tasks, took float64, workers int) {
	f.ChunkRate, f.TaskRate = f.Chunks/took, tasks/took
	f.MessageRate = chunkMessages*f.ChunkRate + workerMessages*float64(workers)
	f.CoordinatorCores = (tasks*(loopTask+restTask) + f.Chunks*(loopChunk+restChunk)) / took
	f.ServerCores = (tasks*serverTask+f.Chunks*serverChunk)/took + float64(workers)*serverWorker
}
