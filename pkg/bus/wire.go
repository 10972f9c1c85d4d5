package bus

import (
	"errors"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	nqueensv1 "nqueens/proto/nqueens/v1"

	"nqueens/pkg/queens"
	"nqueens/pkg/run"
)

// versionError refuses a message of another protocol version.
type versionError struct {
	theirs uint32
	worker string // that sent it, as far as it can be told; else empty
}

func (e versionError) Error() string {
	return fmt.Sprintf("message of protocol version %d, this program speaks version %d", e.theirs, Protocol)
}

// checkProtocol tells another version from none: what has none is garbage. The worker
// is the sender's name, if the message has one where ours have it.
func checkProtocol(version uint32, worker string) error {
	switch version {
	case Protocol:
		return nil
	case 0:
		return errors.New("message without a protocol version")
	}
	return versionError{theirs: version, worker: queens.SanitizeName(worker)}
}

func encodeTask(t *queens.Task) ([]byte, error) {
	prefixes := make([]*nqueensv1.Prefix, len(t.Prefixes))
	for i, p := range t.Prefixes {
		prefixes[i] = &nqueensv1.Prefix{Row: uint32(p.Row), Cols: p.Cols, Left: p.Left, Right: p.Right}
	}
	return proto.Marshal(&nqueensv1.Task{
		Protocol: Protocol,
		Run:      t.Run,
		Id:       t.ID,
		Attempt:  t.Attempt,
		Hash:     t.Hash(),
		N:        uint32(t.Board.N),
		Allow:    t.Board.Allow[:t.Board.N],
		Prefixes: prefixes,
		NotBy:    t.ExcludedWorkers,
	})
}

// decodeTask returns a task that is valid and whose hash is right.
func decodeTask(subject string, data []byte) (queens.Task, error) {
	var m nqueensv1.Task
	if err := proto.Unmarshal(data, &m); err != nil {
		return queens.Task{}, err
	}
	if err := checkProtocol(m.GetProtocol(), ""); err != nil {
		return queens.Task{}, err
	}
	if m.GetN() > queens.MaxN || int(m.GetN()) != len(m.GetAllow()) {
		return queens.Task{}, fmt.Errorf("task of side %d with %d rows of allowed squares", m.GetN(), len(m.GetAllow()))
	}
	t := queens.Task{Run: m.GetRun(), ID: m.GetId(), Attempt: m.GetAttempt(), ExcludedWorkers: m.GetNotBy(), Board: queens.Board{N: int(m.GetN())}}
	copy(t.Board.Allow[:], m.GetAllow())
	t.Prefixes = make([]queens.Prefix, len(m.GetPrefixes()))
	for i, p := range m.GetPrefixes() {
		t.Prefixes[i] = queens.Prefix{Row: int(p.GetRow()), Cols: p.GetCols(), Left: p.GetLeft(), Right: p.GetRight()}
	}
	if err := t.Validate(); err != nil {
		return queens.Task{}, err
	}
	if taskSubject(t.Run) != subject {
		return queens.Task{}, fmt.Errorf("task of run %s on another run's subject", t.Run)
	}
	if t.Hash() != m.GetHash() {
		return queens.Task{}, fmt.Errorf("task %d of run %s says hash %016x, its content has %016x", t.ID, t.Run, m.GetHash(), t.Hash())
	}
	return t, nil
}

func encodeResult(r *queens.Result) ([]byte, error) {
	return proto.Marshal(&nqueensv1.Result{
		Protocol:  Protocol,
		Run:       r.Run,
		Task:      r.Task,
		Attempt:   r.Attempt,
		Hash:      r.Hash,
		Count:     r.Count,
		Worker:    queens.Sanitize(r.Worker),
		Kernel:    r.Kernel,
		ElapsedNs: uint64(r.Elapsed),
	})
}

// decodeResult returns a valid result. Whether it fits a task of the run is for
// the run's accounts to say.
func decodeResult(subject string, data []byte) (queens.Result, error) {
	var m nqueensv1.Result
	if err := proto.Unmarshal(data, &m); err != nil {
		return queens.Result{}, err
	}
	if err := checkProtocol(m.GetProtocol(), m.GetWorker()); err != nil {
		return queens.Result{}, err
	}
	r := queens.Result{
		Run:     m.GetRun(),
		Task:    m.GetTask(),
		Attempt: m.GetAttempt(),
		Hash:    m.GetHash(),
		Count:   m.GetCount(),
		Worker:  m.GetWorker(),
		Kernel:  m.GetKernel(),
		Elapsed: time.Duration(m.GetElapsedNs()),
	}
	if err := r.Validate(); err != nil {
		return queens.Result{}, err
	}
	if resultSubject(r.Run) != subject {
		return queens.Result{}, fmt.Errorf("result of run %s on another run's subject", r.Run)
	}
	return r, nil
}

func encodeHeartbeat(h *run.Heartbeat) ([]byte, error) {
	held := make([]*nqueensv1.Held, len(h.Held))
	for i, task := range h.Held {
		held[i] = &nqueensv1.Held{Run: task.Run, Task: task.Task, SinceNs: uint64(task.Elapsed)}
	}
	return proto.Marshal(&nqueensv1.Heartbeat{
		Protocol: Protocol,
		Worker:   queens.Sanitize(h.Worker),
		Version:  h.Version,
		Kernel:   h.Kernel,
		Threads:  uint32(h.Threads),
		Leaving:  h.Leaving,
		Held:     held,
	})
}

func decodeHeartbeat(data []byte) (run.Heartbeat, error) {
	var m nqueensv1.Heartbeat
	if err := proto.Unmarshal(data, &m); err != nil {
		return run.Heartbeat{}, err
	}
	if err := checkProtocol(m.GetProtocol(), m.GetWorker()); err != nil {
		return run.Heartbeat{}, err
	}
	h := run.Heartbeat{
		Worker:  m.GetWorker(),
		Version: m.GetVersion(),
		Kernel:  m.GetKernel(),
		Threads: int(m.GetThreads()),
		Leaving: m.GetLeaving(),
	}
	for _, task := range m.GetHeld() {
		h.Held = append(h.Held, run.ActiveTask{Run: task.GetRun(), Task: task.GetTask(), Elapsed: time.Duration(task.GetSinceNs())})
	}
	return h, h.Validate()
}
