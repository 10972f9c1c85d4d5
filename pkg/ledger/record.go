// Package ledger has the log of a run, the only file that keeps its counts, and the fold, which
// says what follows from the log. A log is an append-only file of records: see frame.go for its
// form, log.go for writing, read.go for reading and damage, fold.go for the rules.
package ledger

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"nqueens/pkg/queens"
)

// Format is the version of the log that this program reads and writes. A change of a record or a
// frame needs another one.
const Format = 4

// ErrFormat says that a log has another format: another version of the program wrote it.
var ErrFormat = errors.New("use the version of the program that wrote it")

// Record is one of *[Header], *[Start], *[Result], *[Dispute], *[Recount], *[Ban] and *[Mark].
type Record interface{ kind() kind }

// kind is the kind of a record in its frame.
type kind byte

const (
	headerKind  kind = 'H'
	startKind   kind = 'S'
	resultKind  kind = 'R'
	disputeKind kind = 'D'
	recountKind kind = 'C'
	banKind     kind = 'B'
	markKind    kind = 'M'
)

func (*Header) kind() kind  { return headerKind }
func (*Start) kind() kind   { return startKind }
func (*Result) kind() kind  { return resultKind }
func (*Dispute) kind() kind { return disputeKind }
func (*Recount) kind() kind { return recountKind }
func (*Ban) kind() kind     { return banKind }
func (*Mark) kind() kind    { return markKind }

// Header is the first record of a log. N, placed queens, symmetry, depth and redundancy say what is
// counted, and how.
type Header struct {
	Format     int             `json:"format"`
	Run        string          `json:"run"`
	Manifest   queens.Manifest `json:"manifest"`
	Redundancy int             `json:"redundancy"` // witnesses that must agree on each task, 1 or 2
	// share of the tasks that one more witness counts, 0 to 1
	SpotCheck float64   `json:"spot_check"`
	Secret    Secret    `json:"secret"` // key of tickets and spot checks; in no export
	Created   time.Time `json:"created"`
	// the depth that was asked for; 0 if the splitter chose it
	Depth int `json:"depth"`
}

// Secret is the key of tickets and spot checks.
type Secret = queens.Bytes32

// Start says that a coordinator has begun to work on the run.
type Start struct {
	Number   int       `json:"number"` // of this start, from 1
	Instance uint64    `json:"instance"`
	Version  string    `json:"version"` // of the program
	At       time.Time `json:"at"`
}

// Result is the counts of consecutive tasks of a class, by one worker.
type Result struct {
	Machine         queens.Machine
	Process, Kernel string
	queens.Range
	Hash     uint64        // of the range: see [queens.HashOfRange]
	Counts   []uint64      // solutions below each task
	Searched time.Duration // whole microseconds
	At       time.Time     // whole milliseconds
}

// Dispute has the counts of a task by workers, when counts or recounts of the task differ. It is
// written before the record that differs, and has the count of that record too. So every dissent is
// in two records, and damage to a dispute is an error: if a result is damaged and left out, no
// dissent is lost.
type Dispute struct {
	Task   uint64        `json:"task"`
	Counts []WorkerCount `json:"counts"`
	At     time.Time     `json:"at"`
}

// WorkerCount is a count of one task by workers of a machine.
type WorkerCount struct {
	queens.Machine
	Kernel string `json:"kernel"`
	Count  uint64 `json:"count"`
}

// Recount is the coordinator's own count of a task.
type Recount struct {
	Task    uint64    `json:"task"`
	Count   uint64    `json:"count"`
	Machine string    `json:"machine"` // of the coordinator
	Kernel  string    `json:"kernel"`
	Deeper  bool      `json:"deeper,omitempty"` // its prefixes had one row more than the task's
	Why     Why       `json:"why"`
	At      time.Time `json:"at"`
}

// Search names the search by which a recount with the given kernel counts a task. Two recounts by
// one search prove no more than one of them, because the search may repeat an error. In a count by
// the method halves, kernels of one method are one search: they share the algorithm.
func Search(m queens.Method, kernel string, deeper bool) string {
	if m == queens.Halves {
		return string(queens.MethodOf(kernel))
	}
	return fmt.Sprint(kernel, " ", deeper)
}

// Why says why the coordinator counted a task itself.
type Why string

// The reasons of recounts.
const (
	Disputed    Why = "dispute"      // counts differ
	SpotCheck   Why = "spot check"   // no second machine is present
	LostWorkers Why = "lost workers" // workers lost the task three times, or hold it for too long
)

// Ban says that a machine is banned. It is written with the record from which it follows, so that
// the ban stands even if the machine's results are damaged later.
type Ban struct {
	queens.Ban
	At time.Time `json:"at"`
}

// Mark says how far the run is, and in which state. If a run has ended, its last mark says how.
type Mark struct {
	State queens.State `json:"state"`
	At    time.Time    `json:"at"`
	// time that coordinators have worked on the run, without pauses
	Wall      time.Duration   `json:"wall_ns"`
	Done      uint64          `json:"done"`      // tasks
	Work      float64         `json:"work"`      // part of the estimated work that is done, 0 to 1
	Solutions *queens.Decimal `json:"solutions"` // found so far, weighted
	Total     *queens.Decimal `json:"total"`     // null unless State is [queens.Complete]
}

// validate returns an error if a record can't belong to a run with the given number of tasks.
func validate(r Record, tasks uint64) error {
	oneTask := func(task uint64) error { return queens.Range{First: task, Tasks: 1}.Validate(tasks) }
	switch r := r.(type) {
	case *Header:
		return r.validate()
	case *Start:
		return queens.ValidateName("a version", r.Version)
	case *Result:
		if uint64(len(r.Counts)) != r.Tasks || r.Searched < 0 || r.At.UnixMilli() < 0 {
			return fmt.Errorf("a result of %d tasks with %d counts, searched %v, at %v",
				r.Tasks, len(r.Counts), r.Searched, r.At)
		}
		return cmp.Or(r.Range.Validate(tasks), r.Machine.Validate())
	case *Dispute:
		err := oneTask(r.Task)
		for _, c := range r.Counts {
			err = cmp.Or(err, c.Machine.Validate(), queens.ValidateName("a kernel", c.Kernel))
		}
		if len(r.Counts) == 0 {
			err = cmp.Or(err, errors.New("a dispute without counts"))
		}
		return err
	case *Recount:
		if r.Why != Disputed && r.Why != SpotCheck && r.Why != LostWorkers {
			return fmt.Errorf("a recount for the reason %.80q", r.Why)
		}
		return cmp.Or(oneTask(r.Task), queens.ValidateMachine(r.Machine),
			queens.ValidateName("a kernel", r.Kernel))
	case *Ban:
		return cmp.Or(oneTask(r.Task), r.Validate())
	case *Mark:
		switch {
		case r.Solutions == nil, r.Wall < 0, !(r.Work >= 0 && r.Work <= 1), r.Done > tasks:
			return errors.New("a mark without solutions, or with a negative time, impossible work or too " +
				"many tasks")
		case (r.Total != nil) != (r.State == queens.Complete):
			return fmt.Errorf("a mark of state %.80q, and a total: %v", r.State, r.Total != nil)
		}
		return r.State.Validate()
	}
	return nil
}

func (h *Header) validate() error {
	switch {
	case h.Format != Format:
		return fmt.Errorf("%w: format %d, this program reads format %d", ErrFormat, h.Format, Format)
	case h.Redundancy < 1 || h.Redundancy > MaxRedundancy:
		return fmt.Errorf("redundancy %d, not 1 or %d", h.Redundancy, MaxRedundancy)
	case !(h.SpotCheck >= 0 && h.SpotCheck <= 1):
		return fmt.Errorf("spot checks of the share %v, not 0 to 1", h.SpotCheck)
	case h.Manifest.Tasks > queens.MaxTasks:
		return fmt.Errorf("%d tasks, more than %d", h.Manifest.Tasks, queens.MaxTasks)
	}
	return cmp.Or(queens.ValidateRun(h.Run), h.Manifest.Validate())
}

// MaxRedundancy is the greatest number of witnesses that can be asked to agree on each task. A
// third count would show nothing that a recount does not.
const MaxRedundancy = 2

// payloadOf encodes a valid record: a result in binary, and all other records, which are rare, in
// JSON.
func payloadOf(r Record) ([]byte, error) {
	if err := validate(r, math.MaxUint64); err != nil {
		return nil, err
	}
	if r, ok := r.(*Result); ok {
		return r.encode()
	}
	return json.Marshal(r)
}

// encode returns four names, each preceded by its length, then the hash in 8 bytes, then numbers of
// variable length.
func (r *Result) encode() (b []byte, err error) {
	for _, name := range []string{r.Machine.User, r.Machine.Name, r.Process, r.Kernel} {
		if err := queens.ValidateName("a name", name); err != nil {
			return nil, err
		}
		b = append(append(b, byte(len(name))), name...)
	}
	b = binary.LittleEndian.AppendUint64(b, r.Hash)
	head := []uint64{r.First, r.Tasks, uint64(r.Searched.Microseconds()), uint64(r.At.UnixMilli())}
	for _, number := range append(head, r.Counts...) {
		b = binary.AppendUvarint(b, number)
	}
	return b, nil
}

// decoder decodes the records of a log. It keeps each name once. Each result overwrites the result
// before it.
type decoder struct {
	header  *Header // the last header
	names   map[string]string
	numbers []uint64
	result  Result
}

// newDecoder returns a decoder of a log. Until it has decoded the header, records may name any
// task.
func newDecoder() *decoder {
	return &decoder{header: &Header{Manifest: queens.Manifest{Tasks: math.MaxUint64}},
		names: make(map[string]string)}
}

// errRecord says that the payload of a whole frame is no record.
var errRecord = errors.New("a record that can't be decoded")

// decode returns the record of a frame if it is valid in this log.
func (d *decoder) decode(f *frame) (r Record, err error) {
	if f.kind == resultKind {
		r, err = &d.result, d.decodeResult(f.payload)
	} else {
		records := []Record{new(Header), new(Start), new(Dispute), new(Recount), new(Ban), new(Mark)}
		i := slices.IndexFunc(records, func(r Record) bool { return r.kind() == f.kind })
		if i < 0 {
			return nil, fmt.Errorf("%w: kind %d", errRecord, f.kind)
		}
		r, err = records[i], decodeJSON(f.payload, records[i])
	}
	if h, ok := r.(*Header); ok {
		d.header = h
	}
	if err == nil {
		err = validate(r, d.header.Manifest.Tasks)
	}
	return r, err
}

// decodeJSON decodes a record, and accepts only what payloadOf would write. A header of another
// format may have other fields; the error then wraps [ErrFormat].
func decodeJSON(payload []byte, r Record) error {
	failed := json.Unmarshal(payload, r)
	again, err := payloadOf(r)
	if err == nil && (failed != nil || !bytes.Equal(again, payload)) {
		err = errRecord
	}
	return err
}

func (d *decoder) decodeResult(b []byte) (err error) {
	r := &d.result
	for _, name := range []*string{&r.Machine.User, &r.Machine.Name, &r.Process, &r.Kernel} {
		if len(b) == 0 || len(b) <= int(b[0]) {
			return errRecord
		}
		end := 1 + int(b[0])
		if *name, err = d.name(b[1:end]); err != nil {
			return err
		}
		b = b[end:]
	}
	if len(b) < 8 {
		return errRecord
	}
	r.Hash, b = binary.LittleEndian.Uint64(b), b[8:]
	numbers := d.numbers[:0]
	for len(b) > 0 {
		number, size := binary.Uvarint(b)
		if size <= 0 {
			return errRecord
		}
		numbers, b = append(numbers, number), b[size:]
	}
	if len(numbers) < 4 || numbers[2] > math.MaxInt64/1000 || numbers[3] > math.MaxInt64/1_000_000 {
		return errRecord
	}
	d.numbers = numbers
	r.First, r.Tasks, r.Counts = numbers[0], numbers[1], numbers[4:]
	r.Searched = time.Duration(numbers[2]) * time.Microsecond
	r.At = time.UnixMilli(int64(numbers[3])).UTC()
	return nil
}

// name returns a name of a result. It validates a name only the first time.
func (d *decoder) name(b []byte) (string, error) {
	if name, known := d.names[string(b)]; known {
		return name, nil
	}
	name := string(b)
	d.names[name] = name
	return name, queens.ValidateName("a name", name)
}
