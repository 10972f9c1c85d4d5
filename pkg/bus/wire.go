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

// versionError rejects a message of another protocol version.
type versionError struct {
	version uint32
	worker  string // that sent it; empty if unknown
}

func (e versionError) Error() string {
	return fmt.Sprintf("message of protocol version %d, this program speaks version %d", e.version, Protocol)
}

// checkProtocol returns a versionError for another version. A message without a version
// is garbage. The worker is the message's sender, if the message names one.
func checkProtocol(version uint32, worker string) error {
	switch version {
	case Protocol:
		return nil
	case 0:
		return errors.New("message without a protocol version")
	}
	return versionError{version: version, worker: queens.SanitizeName(worker)}
}

// message is a generated message of the protocol.
type message interface {
	proto.Message
	GetProtocol() uint32
}

// unmarshal reads a message of this program's protocol version.
func unmarshal(data []byte, m message) error {
	if err := proto.Unmarshal(data, m); err != nil {
		return err
	}
	var worker string
	if sent, ok := m.(interface{ GetWorker() string }); ok {
		worker = sent.GetWorker()
	}
	return checkProtocol(m.GetProtocol(), worker)
}

// validate checks what was read from a message, and that it came on its run's subject.
func validate(value interface{ Validate() error }, subject, want string) error {
	if err := value.Validate(); err != nil {
		return err
	}
	if subject != want {
		return fmt.Errorf("message for %s on the subject %s", want, subject)
	}
	return nil
}

func encodeTask(t *queens.Task) ([]byte, error) {
	prefixes := make([]*nqueensv1.Prefix, len(t.Prefixes))
	for i, p := range t.Prefixes {
		prefixes[i] = &nqueensv1.Prefix{Row: uint32(p.Row), Cols: p.Cols, Left: p.Left, Right: p.Right}
	}
	return proto.Marshal(&nqueensv1.Task{
		Protocol:        Protocol,
		Run:             t.Run,
		Id:              t.ID,
		Attempt:         t.Attempt,
		Hash:            t.Hash(),
		N:               uint32(t.Board.N),
		Allow:           t.Board.Allow[:t.Board.N],
		Prefixes:        prefixes,
		ExcludedWorkers: t.ExcludedWorkers,
	})
}

// decodeTask returns a valid task whose hash is right.
func decodeTask(subject string, data []byte) (queens.Task, error) {
	var m nqueensv1.Task
	if err := unmarshal(data, &m); err != nil {
		return queens.Task{}, err
	}
	if m.GetN() > queens.MaxN || int(m.GetN()) != len(m.GetAllow()) {
		return queens.Task{}, fmt.Errorf("task of side %d with %d rows of allowed squares", m.GetN(), len(m.GetAllow()))
	}
	t := queens.Task{
		Run: m.GetRun(), ID: m.GetId(), Attempt: m.GetAttempt(), ExcludedWorkers: m.GetExcludedWorkers(),
		Board:    queens.Board{N: int(m.GetN())},
		Prefixes: make([]queens.Prefix, len(m.GetPrefixes())),
	}
	copy(t.Board.Allow[:], m.GetAllow())
	for i, p := range m.GetPrefixes() {
		t.Prefixes[i] = queens.Prefix{Row: int(p.GetRow()), Cols: p.GetCols(), Left: p.GetLeft(), Right: p.GetRight()}
	}
	if err := validate(&t, subject, taskSubject(t.Run)); err != nil {
		return queens.Task{}, err
	}
	if t.Hash() != m.GetHash() {
		return queens.Task{}, fmt.Errorf("task %d of run %s says hash %016x, its content has %016x",
			t.ID, t.Run, m.GetHash(), t.Hash())
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

// decodeResult returns a valid result. Whether it matches a task of the run is for the
// coordinator to check.
func decodeResult(subject string, data []byte) (queens.Result, error) {
	var m nqueensv1.Result
	if err := unmarshal(data, &m); err != nil {
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
	return r, validate(&r, subject, resultSubject(r.Run))
}

func encodeHeartbeat(h *run.Heartbeat) ([]byte, error) {
	held := make([]*nqueensv1.ActiveTask, len(h.Held))
	for i, task := range h.Held {
		held[i] = &nqueensv1.ActiveTask{Run: task.Run, Task: task.Task, ElapsedNs: uint64(task.Elapsed)}
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

// decodeHeartbeat returns a valid heartbeat. Its subject is not checked: it is shortened.
func decodeHeartbeat(_ string, data []byte) (run.Heartbeat, error) {
	var m nqueensv1.Heartbeat
	if err := unmarshal(data, &m); err != nil {
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
		h.Held = append(h.Held, run.ActiveTask{
			Run: task.GetRun(), Task: task.GetTask(), Elapsed: time.Duration(task.GetElapsedNs()),
		})
	}
	return h, h.Validate()
}
