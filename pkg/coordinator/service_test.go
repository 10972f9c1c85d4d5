package coordinator

import (
	"context"
	"errors"
	"math/big"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"nqueens/pkg/bus"
	"nqueens/pkg/coordinator/core"
	"nqueens/pkg/ledger"
	"nqueens/pkg/queens"
	"nqueens/pkg/testkit"
)

// disk is a log. Each write with records waits until the test lets it succeed or fail. Only then
// are its records on disk, or none of them.
type disk struct {
	begun   chan struct{} // a write waits
	release chan error

	mu     sync.Mutex
	onDisk []ledger.Record
	failed error
	gone   error // what Intact returns
}

func (d *disk) Write(records ...ledger.Record) error {
	d.mu.Lock()
	failed := d.failed
	d.mu.Unlock()
	if failed != nil || len(records) == 0 {
		return failed
	}
	d.begun <- struct{}{}
	err := <-d.release
	d.mu.Lock()
	defer d.mu.Unlock()
	d.failed = err
	if err == nil {
		d.onDisk = append(d.onDisk, records...)
	}
	return err
}

func (d *disk) Intact() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.gone
}

// has reports whether a record of the given kind is on disk.
func (d *disk) has(is func(ledger.Record) bool) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.ContainsFunc(d.onDisk, is)
}

func isResult(r ledger.Record) bool { _, ok := r.(*ledger.Result); return ok }

func isEnd(r ledger.Record) bool {
	m, ok := r.(*ledger.Mark)
	return ok && m.State == queens.Complete
}

// next lets the next write succeed, or fail with the error.
func (d *disk) next(err error) {
	<-d.begun
	d.release <- err
}

// wire is a server without a network. The test gives messages to the function serve, and
// announcements to the function hear.
type wire struct {
	serve     func(bus.Message)
	hear      func(queens.Announcement)
	refuses   error // of ServeWork
	problem   atomic.Value
	announced atomic.Int64
}

func (w *wire) ServeWork(_ string, handle func(bus.Message)) (func(), error) {
	w.serve = handle
	return func() {}, w.refuses
}
func (w *wire) ServeStatus(string, func() *queens.Snapshot) (func(), error) {
	return func() {}, nil
}
func (w *wire) Announce(*queens.Announcement) error {
	w.announced.Add(1)
	return nil
}
func (w *wire) Announcements(hear func(queens.Announcement)) (func(), error) {
	w.hear = hear
	return func() {}, nil
}
func (w *wire) Connected() bool { return w.Problem() == "" }
func (w *wire) Problem() string {
	problem, _ := w.problem.Load().(string)
	return problem
}
func (w *wire) MaxPayload() int { return 1 << 20 }

// service is a coordinator over a disk, with one worker.
type service struct {
	t        *testing.T
	c        *Coordinator
	wire     wire
	disk     *disk
	at       *station
	requests uint64
	receipts chan []byte
	latest   atomic.Pointer[queens.Snapshot]
	ended    chan error // the error of Run
	total    chan struct{}
	stop     func()
	close    func()
}

// newService returns a coordinator that takes messages, and does not run yet.
func newService(t *testing.T, log zerolog.Logger) *service {
	t.Helper()
	s := &service{
		t: t, at: testStation(t), disk: &disk{begun: make(chan struct{}), release: make(chan error)},
		receipts: make(chan []byte, 100), ended: make(chan error, 1), total: make(chan struct{}, 1),
	}
	c, err := Start(s.config(log))
	if err != nil {
		t.Fatal(err)
	}
	s.c, s.close = c, sync.OnceFunc(c.Close)
	return s
}

// config is what the coordinator needs.
func (s *service) config(log zerolog.Logger) Config {
	h := *s.at.header
	h.Format, h.Redundancy = ledger.Format, 1
	classes := len(h.Manifest.Classes)
	shares := slices.Repeat([]float64{1 / float64(h.Manifest.Tasks)}, classes)
	return Config{
		Log: s.disk, State: ledger.NewState(&h), Index: s.at.index, Wire: &s.wire,
		Options: core.Options{
			Instance: 1, Machine: "home", Kernels: []string{"generic"}, Shares: shares,
			TaskBytes: slices.Repeat([]int{100}, classes),
		},
		Total: func(context.Context) (*big.Int, error) {
			s.total <- struct{}{}
			return sumOnDisk(s.t, s.disk, h.Manifest.Tasks), nil
		},
		OnSnapshot: s.latest.Store, Logger: log,
	}
}

// start runs the coordinator until stop is called or the run ends, and lets it write the start of
// the run.
func (s *service) start() {
	ctx, stop := context.WithCancel(s.t.Context())
	s.stop = stop
	go func() {
		_, err := s.c.Run(ctx)
		s.ended <- err
	}()
	s.disk.next(nil)
}

// finish stops the run, and closes the coordinator.
func (s *service) finish() {
	s.stop()
	s.disk.next(nil) // the mark
	if err := <-s.ended; err != nil {
		s.t.Error(err)
	}
	s.close()
}

func startService(t *testing.T) *service {
	t.Helper()
	s := newService(t, zerolog.Nop())
	s.start()
	return s
}

// sumOnDisk returns the sum of all counts on the disk, which must have a count of each task.
func sumOnDisk(t *testing.T, d *disk, tasks uint64) *big.Int {
	d.mu.Lock()
	defer d.mu.Unlock()
	sum, counted := uint64(0), uint64(0)
	for _, r := range d.onDisk {
		if r, ok := r.(*ledger.Result); ok {
			counted += r.Tasks
			for _, count := range r.Counts {
				sum += count
			}
		}
	}
	if counted != tasks {
		t.Errorf("the total is computed with %d of %d tasks on disk", counted, tasks)
	}
	return new(big.Int).SetUint64(sum)
}

var process = queens.Process{Machine: testkit.Machine("a"), Name: "p"}

// ask sends a work request and returns the chunks of the reply. It does not wait for the disk.
func (s *service) ask(want int) []queens.Chunk {
	s.t.Helper()
	reply, err := bus.DecodeWorkReply(<-s.send(want))
	if err != nil {
		s.t.Fatal(err)
	}
	return reply.Chunks
}

// send sends a work request, and returns where its reply comes. Without a wanted chunk, the worker
// leaves.
func (s *service) send(want int) (replies chan []byte) {
	s.t.Helper()
	s.requests++
	replies = make(chan []byte, 1)
	data := request(s.t, queens.WorkRequest{Number: s.requests, Want: want, Leaving: want == 0})
	s.wire.serve(bus.Message{From: process, Data: data, Reply: func(data []byte) error {
		replies <- data
		return nil
	}})
	return replies
}

// request encodes a work request of a worker with one thread.
func request(t *testing.T, r queens.WorkRequest) []byte {
	t.Helper()
	r.Connection, r.Version, r.Kernel, r.Threads, r.Searchers = 1, "v", "generic", 1, 1
	data, err := bus.EncodeRequest(&r)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// deliver sends the results of chunks. Each count is 1.
func (s *service) deliver(chunks []queens.Chunk) {
	s.t.Helper()
	var d queens.Delivery
	for _, c := range chunks {
		var hashes []uint64
		r := queens.Result{Range: c.Range, Ticket: c.Ticket, Counted: c.Range, Kernel: "generic",
			Searched: time.Second}
		for i, prefixes := range c.Prefixes {
			task := queens.Task{ID: c.First + uint64(i), Board: c.Board, Prefixes: prefixes}
			hashes, r.Counts = append(hashes, task.Hash()), append(r.Counts, 1)
		}
		r.Hash = queens.HashOfRange(hashes)
		d.Results = append(d.Results, r)
	}
	data, err := bus.EncodeDelivery(&d)
	if err != nil {
		s.t.Fatal(err)
	}
	s.wire.serve(bus.Message{From: process, Data: data, Reply: func(data []byte) error {
		if !s.disk.has(isResult) {
			s.t.Error("a receipt is sent, and nothing is on disk")
		}
		s.receipts <- data
		return nil
	}})
}

// A receipt is sent when the write has succeeded, not before.
func TestReceiptsWait(t *testing.T) {
	s := startService(t)
	defer s.close()
	s.deliver(s.ask(1))
	<-s.disk.begun
	for range 20 { // each round trip passes through the loop and the stations
		s.ask(0)
	}
	if len(s.receipts) > 0 {
		t.Error("a receipt is sent before the write has ended")
	}
	s.disk.release <- nil
	reply, err := bus.DecodeDeliveryReply(<-s.receipts)
	if err != nil || !reply.Receipts[0].Recorded {
		t.Errorf("%+v %v", reply, err)
	}
	s.stop()
	s.disk.next(nil) // the mark
	if err := <-s.ended; err != nil {
		t.Error(err)
	}
}

// After a failed write no receipt is sent, and the run stops so that it can be resumed.
func TestNoReceiptAfterFailure(t *testing.T) {
	s := startService(t)
	defer s.close()
	chunks := s.ask(1)
	s.deliver(chunks)
	full := errors.New("no space left")
	s.disk.next(full)
	if err := <-s.ended; !errors.Is(err, full) || !errors.Is(err, queens.ErrIncomplete) {
		t.Error(err)
	}
	s.close()
	if len(s.receipts) > 0 {
		t.Error("a receipt is sent although the write failed")
	}
}

// A result that is recorded already gets a receipt, too.
func TestRepeatedDelivery(t *testing.T) {
	s := startService(t)
	defer s.close()
	chunks := s.ask(1)
	s.deliver(chunks)
	s.disk.next(nil)
	s.deliver(chunks)
	<-s.receipts
	<-s.receipts
	s.finish()
}

// The total is computed when all counts are on disk, and the run ends when its mark is.
func TestEndWaits(t *testing.T) {
	s := startService(t)
	defer s.close()
	s.deliver(s.ask(1000))
	<-s.disk.begun
	for range 20 {
		s.ask(0)
	}
	if len(s.total) > 0 {
		t.Error("the total is computed before the counts are on disk")
	}
	s.disk.release <- nil
	<-s.total
	<-s.disk.begun
	if len(s.ended) > 0 {
		t.Error("the run ends before its mark is on disk")
	}
	s.disk.release <- nil
	if err := <-s.ended; err != nil || !s.disk.has(isEnd) {
		t.Errorf("the run ends with %v", err)
	}
	if last := s.latest.Load(); last.State != queens.Complete || last.Confirmed == nil {
		t.Errorf("the last snapshot says %+v", last)
	}
}

// A log that is deleted while the run counts stops the run.
func TestLogIsGone(t *testing.T) {
	s := startService(t)
	defer s.close()
	s.disk.mu.Lock()
	s.disk.gone = ledger.ErrGone
	s.disk.mu.Unlock()
	if err := <-s.ended; !errors.Is(err, ledger.ErrGone) || !errors.Is(err, queens.ErrIncomplete) {
		t.Error(err)
	}
}

// If the last write fails, the run is not complete.
func TestEndFails(t *testing.T) {
	s := startService(t)
	defer s.close()
	s.deliver(s.ask(1000))
	s.disk.next(nil)
	<-s.total
	full := errors.New("no space left")
	s.disk.next(full)
	if err := <-s.ended; !errors.Is(err, full) || !errors.Is(err, queens.ErrIncomplete) {
		t.Error(err)
	}
}
