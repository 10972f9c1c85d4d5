package worker_test

import (
	"context"
	"errors"
	"math/big"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"nqueens/pkg/bus"
	"nqueens/pkg/bus/natsserver"
	"nqueens/pkg/kernel"
	"nqueens/pkg/queens"
	"nqueens/pkg/split"
	"nqueens/pkg/symmetry"
	"nqueens/pkg/testkit"
	"nqueens/pkg/worker"
)

const testRun = "n10-test"

// handOut is a minimal coordinator. It hands out tasks in order, each once, and adds up the
// delivered counts.
type handOut struct {
	manifest queens.Manifest
	index    *split.Index
	instance uint64
	all      chan struct{} // closed when every task is counted

	mu      sync.Mutex
	next    uint64
	sums    queens.Sums
	counted map[uint64]bool
	asked   map[queens.Process]bool // processes that have asked and not left
	last    map[queens.Process]uint64
	given   map[queens.Process][]queens.Chunk
	wrong   []error
}

func newHandOut(t *testing.T, n int) *handOut {
	t.Helper()
	classes, err := symmetry.Classes(n, queens.Full)
	if err != nil {
		t.Fatal(err)
	}
	h := &handOut{
		instance: 7, all: make(chan struct{}), counted: map[uint64]bool{},
		asked: map[queens.Process]bool{}, last: map[queens.Process]uint64{},
		given: map[queens.Process][]queens.Chunk{},
	}
	if h.manifest, h.index, err = split.Plan(t.Context(), n, queens.Full, classes, 3); err != nil {
		t.Fatal(err)
	}
	return h
}

// request answers a work request with chunks of up to 5 tasks of a class. It repeats chunks whose
// reply was lost.
func (h *handOut) request(from queens.Process, r *queens.WorkRequest) *queens.WorkReply {
	h.mu.Lock()
	defer h.mu.Unlock()
	reply := &queens.WorkReply{Number: r.Number, Instance: h.instance}
	if r.Number < h.last[from] { // a newer request came first
		return reply
	}
	h.last[from], h.asked[from] = r.Number, true
	if r.Leaving {
		delete(h.asked, from)
	}
	for _, c := range h.given[from] {
		listed := slices.ContainsFunc(r.Held, func(held queens.Held) bool {
			return held.Range == c.Range
		})
		if !listed && !h.counted[c.First] && !r.Leaving {
			reply.Chunks = append(reply.Chunks, c)
		}
	}
	for range r.Want {
		if h.next == h.manifest.Tasks {
			break
		}
		class := h.manifest.ClassOf(h.next)
		c := queens.Chunk{Range: queens.Range{First: h.next}, Board: h.manifest.Classes[class].Board}
		for c.Tasks < 5 && h.next < h.manifest.Tasks && h.manifest.ClassOf(h.next) == class {
			task := h.index.Range(h.next, 1)[0]
			c.Prefixes = append(c.Prefixes, task.Prefixes)
			c.Tasks++
			h.next++
		}
		c.Ticket[0] = byte(c.First)
		reply.Chunks, h.given[from] = append(reply.Chunks, c), append(h.given[from], c)
	}
	return reply
}

func (h *handOut) deliver(d *queens.Delivery) *queens.DeliveryReply {
	h.mu.Lock()
	defer h.mu.Unlock()
	reply := &queens.DeliveryReply{Instance: h.instance}
	for _, r := range d.Results {
		reply.Receipts = append(reply.Receipts, queens.Receipt{Recorded: true})
		var hashes []uint64
		for i, task := range h.index.Range(r.Counted.First, int(r.Counted.Tasks)) {
			hashes = append(hashes, task.Hash())
			if !h.counted[task.ID] {
				h.sums.Add(h.manifest.Classes[h.manifest.ClassOf(task.ID)].Weight, r.Counts[i])
			}
			h.counted[task.ID] = true
		}
		if r.Hash != queens.HashOfRange(hashes) || r.Ticket[0] != byte(r.First) {
			h.wrong = append(h.wrong, errors.New("wrong hash or ticket of "+r.Counted.String()))
		}
	}
	if uint64(len(h.counted)) == h.manifest.Tasks {
		select {
		case <-h.all:
		default:
			close(h.all)
		}
	}
	return reply
}

func (h *handOut) announcement() queens.Announcement {
	return queens.Announcement{Run: testRun, Instance: h.instance, State: queens.Running, Work: true}
}

// check waits until all tasks are counted, and checks the total.
func (h *handOut) check(t *testing.T) {
	t.Helper()
	select {
	case <-h.all:
	case <-time.After(testkit.Stall):
		t.Fatal("not all tasks are counted")
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if total := h.sums.Total(); total.Cmp(big.NewInt(724)) != 0 || len(h.wrong) > 0 {
		t.Errorf("counted %v, want 724; %v", total, errors.Join(h.wrong...))
	}
}

// Workers count n = 10 over a real server, with all kernels of this machine. When they leave, they
// say so.
func TestCountOverServer(t *testing.T) {
	server, err := natsserver.Start(natsserver.Config{Log: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Stop)
	connect := func(name string) *bus.Bus {
		b, err := bus.Connect(t.Context(), bus.Options{InProcess: server, Name: name, Log: zerolog.Nop()})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(b.Close)
		return b
	}
	coordinator, h := connect("coordinator"), newHandOut(t, 10)
	stop, err := coordinator.ServeWork(testRun, func(m bus.Message) {
		got, err := bus.DecodeFromWorker(m.Data)
		if err != nil {
			t.Error(err)
			return
		}
		var data []byte
		if got.Request != nil {
			data, err = bus.EncodeWorkReply(h.request(m.From, got.Request))
		} else {
			data, err = bus.EncodeDeliveryReply(h.deliver(got.Delivery))
		}
		if err == nil {
			err = m.Reply(data)
		}
		if err != nil {
			t.Error(err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	defer stop()

	ctx, cancel := context.WithCancel(t.Context())
	var workers sync.WaitGroup
	for _, k := range kernel.Available() {
		w := worker.New(worker.Config{
			Process: worker.NewProcess(testkit.Machine("m-" + k.Name)), Version: "test", Kernel: k,
			Threads: 2, AtOnce: true, Log: zerolog.Nop(),
		}, connect(k.Name))
		workers.Go(func() {
			if err := w.Run(ctx); err != nil {
				t.Errorf("worker with kernel %s: %v", k.Name, err)
			}
		})
	}
	defer workers.Wait()
	defer cancel()
	go func() {
		for ctx.Err() == nil {
			a := h.announcement()
			if err := coordinator.Announce(&a); err != nil {
				t.Error(err)
			}
			time.Sleep(50 * time.Millisecond)
		}
	}()
	h.check(t)
	cancel()
	workers.Wait()
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.asked) > 0 {
		t.Errorf("%v did not say that they leave", h.asked)
	}
}
