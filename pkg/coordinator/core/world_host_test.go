package core

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math/big"
	"slices"
	"time"

	"nqueens/pkg/ledger"
	"nqueens/pkg/queens"
)

// host is a process of the coordinator, with its log.
type host struct {
	w         *world
	core      *Core
	state     *ledger.State
	started   time.Duration
	resumed   bool
	dead      bool
	frozen    time.Duration            // the process does not run until then
	cut       bool                     // the process is not connected
	gap       time.Duration            // when the last gap ended
	pending   []*Commands              // what is not on the disk yet
	seen      map[queens.Process]order // the last request from each process
	bans      map[queens.Machine]bool  // machines that are banned
	syncing   bool
	lastTick  time.Duration
	done      time.Duration // the run's wall time when every task was done
	completed bool          // the last mark says that the run has ended
}

// startHost starts a coordinator with the log that is on the disk.
func (w *world) startHost() {
	state, notes, err := ledger.Fold(
		io.NewSectionReader(bytes.NewReader(w.disk), 0, int64(len(w.disk))), "the world's")
	if err != nil || len(notes.Dropped)+len(notes.Mended) > 0 && !w.damaged {
		w.fail("the log can't be read: %v, %v", err, notes)
		return
	}
	w.disk, w.writes = w.disk[:notes.Size], notes.Write
	w.receiptsAreKept(state)
	if ended := state.Ended(); ended != "" { // the last process recorded its end and was killed
		w.end = &End{State: ended, Total: (*big.Int)(state.Mark().Total)}
		return
	}
	w.starts++
	h := &host{w: w, state: state, started: w.now, resumed: state.Starts() > 0, gap: -time.Hour,
		lastTick: w.now, seen: map[queens.Process]order{}, bans: map[queens.Machine]bool{}}
	for _, b := range state.Bans() {
		h.bans[b.Machine] = true
	}
	shares := w.setup.shares
	if shares == nil {
		shares = testShares(&w.header.Manifest)
	}
	sizes := make([]int, len(shares))
	for i := range sizes {
		sizes[i] = 100
	}
	h.core = New(w.now, state, Options{
		Instance: w.starts, Version: "v", At: time.Unix(1e9, 0).Add(w.now), Alone: w.setup.alone,
		Machine: w.home,
		Kernels: w.setup.kernels, Shares: shares, TaskBytes: sizes, ReplyBytes: w.setup.replyBytes(),
	})
	h.core.queue.most = cmp.Or(w.setup.most, mostHeld)
	w.host = h
	w.trace("%v start %d: %d done", w.now, w.starts, state.NumberDone())
	h.execute()
	h.tick()
	if w.now < w.setup.end {
		w.after(w.faults.between(0, 2*w.setup.end), func() { h.fault() })
	}
}

// replyBytes returns a small bound in small worlds, so that replies are cut.
func (s *setup) replyBytes() int {
	if len(s.seconds) < 100 {
		return 1000
	}
	return 1 << 19
}

// tick lets the core tick four times a second. Like the service, it also tells the core whether the
// process is connected.
func (h *host) tick() {
	if h.dead {
		return
	}
	h.w.after(time.Second/4, h.tick)
	h.input(func() {
		if !h.cut && !h.core.fleet.connected {
			h.gap = h.w.now
		}
		h.core.Connected(h.w.now, !h.cut, h.w.setup.replyBytes())
	})
	h.input(func() { h.core.Tick(h.w.now) })
}

// input calls the function do, which gives an input to the core, as soon as the process runs.
func (h *host) input(do func()) {
	switch {
	case h.dead:
	case h.w.now < h.frozen:
		if len(h.w.events) < 1e5 {
			h.w.after(h.frozen-h.w.now, func() { h.input(do) })
		}
	default:
		if h.w.now-h.lastTick > longestStep {
			h.gap = h.w.now
		}
		h.lastTick = h.w.now
		do()
		h.execute()
		if h.w.faults.pick(2, h.w.faulty(0.0005)) == 1 {
			h.crash()
		}
	}
}

// receive gives a message to the core: a request with its order, or a delivery without one. A
// request after a newer one does not show that its process lives, and must not reduce what it
// holds.
func (h *host) receive(from queens.Process, sent order, do func()) {
	if h == nil || h.cut {
		return
	}
	h.input(func() {
		isDelivery := sent == order{}
		late, held := !isDelivery && !sent.isAfter(h.seen[from]), h.core.queue.tasksOf(from)
		if last := h.w.heard[from.Name].last; isDelivery {
			h.w.heard[from.Name] = heard{h.w.now, last}
		} else if sent.isAfter(last) {
			h.w.heard[from.Name] = heard{h.w.now, sent}
		}
		if !isDelivery && !late {
			h.seen[from] = sent
		}
		do()
		if late && h.core.queue.tasksOf(from) < held {
			h.w.fail("request %v of %s comes late and changes what it holds", sent, from.Name)
		}
	})
}

// fault may kill, freeze, cut off or stop the coordinator.
func (h *host) fault() {
	w := h.w
	if h.dead || w.now >= w.setup.end {
		return
	}
	switch w.faults.pick(5, 0.2) {
	case 1:
		h.crash()
	case 2:
		h.frozen = max(h.frozen, w.now+w.faults.between(0, time.Minute))
		w.trace("%v frozen until %v", w.now, h.frozen)
	case 3:
		h.cut = true
		w.trace("%v cut off", w.now)
		w.after(w.faults.between(0, time.Minute), func() { h.cut = false })
	case 4:
		h.input(func() { h.core.Stop(w.now, nil) })
	}
	w.after(w.faults.between(0, w.setup.end), h.fault)
}

// crash kills the process. It starts again after some time.
func (h *host) crash() { h.kill(h.w.faults.between(0, 40*time.Second)) }

// kill kills the process. Of the bytes that are not on the disk yet, the disk keeps the first ones
// or none. The process starts again after the given time.
func (h *host) kill(away time.Duration) {
	if h.dead {
		return
	}
	h.dead = true
	w := h.w
	var written []byte
	for _, c := range h.pending {
		written = w.appendFrames(written, c.Records)
	}
	keep := 0
	if len(written) > 0 {
		keep = int(w.faults.between(0, time.Duration(len(written)+1)))
	}
	w.disk = append(w.disk, written[:keep]...)
	w.trace("%v killed: %d of %d bytes are on disk", w.now, keep, len(written))
	w.host = nil
	if w.setup.alone { // the workers are part of the same process
		for _, p := range slices.Clone(w.procs) {
			p.kill()
		}
	}
	w.after(away, w.startHost)
}

// execute carries out the commands of the core.
func (h *host) execute() {
	w := h.w
	c := h.core.Take()
	for _, line := range c.Log {
		w.trace("%v log %s", w.now, line.Text)
	}
	for _, r := range c.Records {
		w.checkRecord(r)
	}
	w.bansAreRecorded(h, c.Records)
	h.commit(&c)
	for _, r := range c.Replies {
		h.reply(r)
	}
	if c.Recount != nil {
		r := *c.Recount
		w.checkRecount(h, &r)
		w.after(w.faults.between(0, 10*time.Second), func() { h.recounted(r) })
	}
	if c.Announce {
		a := h.core.Announcement()
		for _, p := range w.procs {
			if !h.cut {
				w.send(func() { p.announced(a) })
			}
		}
	}
}

// commit lets commands wait for the disk.
func (h *host) commit(c *Commands) {
	h.pending = append(h.pending, c)
	if !h.syncing && c.NeedsDisk() {
		h.syncing = true
		h.w.after(h.w.faults.between(0, 20*time.Millisecond), h.sync)
	}
}

// sync writes what waits for the disk.
func (h *host) sync() {
	if h.dead {
		return
	}
	h.syncing = false
	pending := h.pending
	h.pending = nil
	if err := Commit(h, pending, h.onceOnDisk); err != nil {
		h.w.trace("%v %v", h.w.now, err)
		h.crash() // the service ends, and a person resumes the run
	}
}

// Write puts records on the disk, or fails and leaves the first bytes of them there, or none.
func (h *host) Write(records ...ledger.Record) error {
	w := h.w
	written := w.appendFrames(nil, records)
	if len(written) > 0 && w.faults.pick(2, w.faulty(0.001)) == 1 {
		w.disk = append(w.disk, written[:w.faults.between(0, time.Duration(len(written)))]...)
		return errors.New("the disk fails")
	}
	if len(written) > 0 {
		w.disk = append(w.disk, written...)
		w.writes++
	}
	return nil
}

// appendFrames appends the frames of the next write.
func (w *world) appendFrames(log []byte, records []ledger.Record) []byte {
	for _, r := range records {
		longer, err := ledger.AppendFrame(log, w.writes+1, r)
		if err != nil {
			w.fail("a record that can't be written: %v", err)
		}
		log = longer
	}
	return log
}

// onceOnDisk does what had to wait for the disk.
func (h *host) onceOnDisk(c *OnDisk) {
	for _, r := range c.Receipts {
		h.sendReceipts(r)
	}
	if c.Total {
		h.w.after(h.w.faults.between(0, time.Second), h.total)
	}
	if c.End != nil {
		h.ended(c.End)
	}
}

// reply sends the reply to a work request.
func (h *host) reply(r Reply) {
	w := h.w
	w.checkReply(h, &r)
	reply := &queens.WorkReply{Number: r.Number, Instance: h.core.options.Instance, Kept: r.Kept,
		Drop: r.Drop, Refused: r.Refused}
	for _, of := range r.Chunks {
		w.handedOut += of.Tasks
		class := w.header.Manifest.ClassOf(of.First)
		reply.Chunks = append(reply.Chunks,
			queens.Chunk{Range: of, Ticket: ticket(r.To.Machine, of),
				Board: w.header.Manifest.Classes[class].Board})
	}
	w.trace("%v reply to %s/%s #%d %v drop %v %s", w.now, r.To.Machine, r.To.Name, r.Number, r.Chunks,
		r.Drop, r.Refused)
	if !h.cut {
		w.send(func() { r.Origin.(client).replied(r.To, reply) })
	}
}

// sendReceipts sends the reply to a delivery.
func (h *host) sendReceipts(r Receipts) {
	w, sent := h.w, r.Origin.(delivered)
	for i, receipt := range r.Receipts {
		result := &sent.results[i]
		if !receipt.Recorded {
			w.trace("%v refused to %s/%s: %v %s", w.now, r.To.Machine, r.To.Name, result.Counted,
				receipt.Refused)
			continue
		}
		for j, count := range result.Counts {
			w.acked = append(w.acked, fact{r.To.Machine, result.Counted.First + uint64(j), count})
		}
	}
	if !h.cut {
		reply := &queens.DeliveryReply{Instance: h.core.options.Instance,
			Receipts: slices.Clone(r.Receipts)}
		w.send(func() { sent.by.receipted(sent.number, reply) })
	}
}

// client is what sends requests and deliveries to a coordinator: a worker process, or a hoarder.
type client interface {
	replied(to queens.Process, reply *queens.WorkReply)
	receipted(number uint64, reply *queens.DeliveryReply)
}

// delivered is a delivery that awaits its receipts.
type delivered struct {
	by      client
	number  uint64
	results []queens.Result
}

// recounted ends a recount.
func (h *host) recounted(r Attempt) {
	w := h.w
	count, err := w.truth[r.Task], error(nil)
	switch {
	case w.setup.dying[r.Kernel] || w.setup.dying["all"]:
		err = errors.New("killed")
	case w.setup.wrong == r.way() && w.home != spare:
		count += 1 << 40
	}
	w.trace("%v recount %d by %s: %d %v", w.now, r.Task, r.way(), count, err)
	h.input(func() { h.core.RecountDone(w.now, count, err) })
}

// total computes the total from the log on the disk.
func (h *host) total() {
	w := h.w
	if h.dead {
		return
	}
	state, _, err := ledger.Fold(io.NewSectionReader(bytes.NewReader(w.disk), 0, int64(len(w.disk))),
		"the world's")
	if err != nil {
		w.fail("the log can't be read: %v", err)
		return
	}
	total := state.Solutions()
	switch {
	case state.NumberDone() < w.header.Manifest.Tasks:
		total, err = nil, fmt.Errorf("%d tasks are done", state.NumberDone())
		if h.state.Results() == h.core.totalOf-1 {
			w.fail("a total is asked for although only %d tasks are done", state.NumberDone())
		}
	case w.setup.published && total.Cmp(w.total) != 0:
		total, err = nil, fmt.Errorf("%w: the published total is another", queens.ErrContradiction)
	}
	h.input(func() { h.core.TotalDone(w.now, total, err) })
}

// spare is a machine without workers, whose recounts are right.
const spare = "spare"

// ended handles the end of the process. If the run was stopped, or must continue on another
// machine, it is resumed. Otherwise the run ends too.
func (h *host) ended(end *End) {
	w := h.w
	w.trace("%v end %s: %v", w.now, end.State, end.Err)
	w.ended = w.now
	if end.State == queens.Stopped && end.Err == nil {
		h.crash()
		return
	}
	if !end.State.Ended() {
		if !w.setup.alone && w.home != spare &&
			(h.state.Banned(w.own()) ||
				slices.ContainsFunc(h.state.Unsettled(), h.core.judge.contradictsItself)) {
			w.home = spare // a person resumes the run there
			h.crash()
			return
		}
		w.end = end
		return
	}
	w.after(5*time.Second, func() { w.end = end }) // until then it answers requests
}

// own returns the machine of the coordinator.
func (w *world) own() queens.Machine {
	return queens.Machine{User: queens.CoordinatorUser, Name: w.home}
}

// ticket returns the ticket of a range for a machine.
func ticket(machine queens.Machine, of queens.Range) (t queens.Ticket) {
	copy(t[:], fmt.Sprintf("%s%v", machine, of))
	return t
}
