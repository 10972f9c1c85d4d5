package core

import (
	"fmt"
	"math"
	"slices"
	"time"

	"nqueens/pkg/queens"
	workers "nqueens/pkg/worker/core"
)

// proc is a worker process.
type proc struct {
	w        *world
	machine  *machine
	name     queens.Process
	core     *workers.Core
	searches []*search
	pulses   []uint64
	dead     bool
	frozen   time.Duration
	due      time.Duration // when the core ticks next

	connection uint64
	asked      uint64                // number of its last request
	listed     []queens.Range        // the chunks that this request lists
	delivered  map[queens.Range]bool // chunks of which it has delivered results
}

// search is the search of one searcher.
type search struct {
	chunks  []queens.Chunk
	began   time.Duration
	stopped bool
	hangs   bool
}

// spawn starts a process of a machine.
func (w *world) spawn(m *machine) {
	w.spawned++
	p := &proc{w: w, machine: m,
		name: queens.Process{Machine: m.id(), Name: fmt.Sprint("p", w.spawned)}, connection: 1,
		delivered: map[queens.Range]bool{}}
	p.core = workers.New(m.searchers, m.together)
	p.searches, p.pulses = make([]*search, m.searchers), make([]uint64, m.searchers)
	w.procs = append(w.procs, p)
	w.trace("%v worker %s starts on %s", w.now, p.name.Name, m.name)
	p.poll()
	if w.now < w.setup.end {
		w.after(w.faults.between(0, 2*w.setup.end), p.fault)
	}
}

// input calls the function do, which gives an input to the core, as soon as the process runs.
func (p *proc) input(do func()) {
	switch {
	case p.dead:
	case p.w.now < p.frozen:
		p.w.after(p.frozen-p.w.now, func() { p.input(do) })
	default:
		do()
		p.execute()
	}
}

func (p *proc) replied(_ queens.Process, reply *queens.WorkReply) {
	p.input(func() { p.core.Replied(p.w.now, p.w.header.Run, reply.Number, reply) })
}

func (p *proc) receipted(number uint64, reply *queens.DeliveryReply) {
	p.input(func() { p.core.Receipted(p.w.now, p.w.header.Run, number, reply) })
}

func (p *proc) announced(a queens.Announcement) {
	random := float64(p.w.faults.between(0, 1000)) / 1000
	p.input(func() { p.core.Announced(p.w.now, a, random) })
}

// poll polls the pulses once a second.
func (p *proc) poll() {
	if p.dead {
		return
	}
	p.w.after(time.Second, p.poll)
	p.input(func() {
		for i, s := range p.searches {
			if s != nil && !s.hangs {
				p.pulses[i]++
			}
		}
		p.core.Pulsed(p.w.now, p.pulses)
	})
}

// fault may kill or freeze the process, or tell it to leave.
func (p *proc) fault() {
	w := p.w
	if p.dead || w.now >= w.setup.end {
		return
	}
	switch w.faults.pick(5, 0.2) {
	case 4:
		p.connection++
		w.trace("%v worker %s connects again", w.now, p.name.Name)
	case 1:
		p.kill()
	case 2:
		p.frozen = max(p.frozen, w.now+w.faults.between(0, time.Minute))
		w.trace("%v worker %s is frozen until %v", w.now, p.name.Name, p.frozen)
	case 3:
		w.trace("%v worker %s shall leave", w.now, p.name.Name)
		p.input(func() { p.core.Leave(w.now) })
	}
	w.after(w.faults.between(0, w.setup.end), p.fault)
}

// kill ends the process; its machine starts another one.
func (p *proc) kill() {
	if p.dead {
		return
	}
	p.dead = true
	p.w.trace("%v worker %s ends", p.w.now, p.name.Name)
	p.w.procs = slices.DeleteFunc(p.w.procs, func(other *proc) bool { return other == p })
	p.w.after(p.w.faults.between(time.Second, 60*time.Second), func() { p.w.spawn(p.machine) })
}

// execute carries out the commands of the core, and lets the core tick when its next tick is due.
func (p *proc) execute() {
	w := p.w
	for _, command := range p.core.Commands() {
		switch c := command.(type) {
		case workers.Ask:
			w.trace("%v %s/%s asks #%d want %d holds%v", w.now, p.machine.name, p.name.Name,
				c.Request.Number, c.Request.Want, heldList(c.Request.Held))
			p.asked, p.listed = c.Request.Number, nil
			for _, held := range c.Request.Held {
				p.listed = append(p.listed, held.Range)
			}
			request := Request{From: p.name, WorkRequest: c.Request, Origin: p}
			request.Connection = p.connection
			request.Version, request.Kernel, request.Threads, request.Searchers = "v", p.machine.kernel,
				p.machine.searchers, p.machine.searchers
			w.send(func() {
				if w.host == nil && w.faults.pick(2, 0.5) == 1 {
					w.send(func() { p.input(func() { p.core.Replied(w.now, c.Run, c.Request.Number, nil) }) })
				}
				w.host.receive(p.name, order{request.Connection, request.Number}, func() {
					again := request
					w.host.core.WorkRequested(w.now, &again)
				})
			})
		case workers.Deliver:
			sent := delivered{by: p, number: c.Number, results: c.Delivery.Results}
			for _, r := range sent.results {
				p.delivered[r.Range] = true
			}
			w.send(func() {
				if w.host == nil && w.faults.pick(2, 0.5) == 1 {
					w.send(func() { p.input(func() { p.core.Receipted(w.now, c.Run, c.Number, nil) }) })
				}
				w.host.receive(p.name, order{}, func() {
					d := &Delivery{From: p.name, Origin: sent}
					for _, r := range sent.results {
						checked := CheckedResult{Result: r}
						if r.Ticket != ticket(p.machine.id(), r.Range) {
							checked.Refused = "a wrong ticket"
						}
						d.Results = append(d.Results, checked)
						w.trace("%v %s/%s delivers %v: %v", w.now, p.machine.name, p.name.Name, r.Counted, r.Counts)
					}
					w.host.core.Delivered(w.now, d)
				})
			})
		case workers.Search:
			p.search(c)
		case workers.Stop:
			if s := p.searches[c.Searcher]; s != nil && !s.stopped {
				s.stopped = true
				w.after(w.faults.between(0, time.Second/5), func() { p.finish(c.Searcher, s) })
			}
		}
	}
	if p.core.Left(w.now) {
		p.kill()
		return
	}
	if next := p.core.Next(); next < 1<<62 && next != p.due {
		p.due = next
		w.after(next-w.now, func() {
			if p.due == next {
				p.due = 0
				p.input(func() { p.core.Tick(w.now) })
			}
		})
	}
}

// impersonate sends a request with the greatest number in the name of a worker process, on another
// connection, as someone can who has the token of the process's user. It lists nothing and wants
// nothing.
func (w *world) impersonate() {
	if w.now >= w.setup.end {
		return
	}
	if len(w.procs) > 0 && w.host != nil {
		victim := w.procs[int(w.faults.between(0, time.Duration(len(w.procs))))]
		r := Request{From: victim.name, Origin: &proc{w: w, dead: true}}
		r.WorkRequest = queens.WorkRequest{Number: math.MaxUint64, Connection: 1 << 60, Version: "v",
			Kernel: generic, Threads: 1, Searchers: 1}
		w.trace("%v somebody asks in the name of %s", w.now, victim.name.Name)
		w.host.receive(victim.name, order{r.Connection, r.Number}, func() {
			w.host.core.WorkRequested(w.now, &r)
		})
	}
	w.after(w.faults.between(time.Second, 20*time.Second), w.impersonate)
}

// heldList prints the chunks that a request lists.
type heldList []queens.Held

func (h heldList) String() (text string) {
	for _, held := range h {
		text += fmt.Sprintf(" %v(%v)", held.Range, held.Searched.Round(time.Millisecond))
	}
	return text
}

// search begins a search.
func (p *proc) search(c workers.Search) {
	w := p.w
	s := &search{chunks: c.Chunks, began: w.now}
	p.searches[c.Searcher] = s
	took := time.Duration(0)
	for _, chunk := range c.Chunks {
		for task := chunk.First; task < chunk.End(); task++ {
			if w.setup.poison[task] {
				w.after(took, func() {
					if p.searches[c.Searcher] == s {
						p.kill()
					}
				})
				return
			}
			took += p.time(task)
		}
	}
	if w.faults.pick(2, w.faulty(0.01)) == 1 {
		s.hangs = true
		w.after(w.faults.between(0, 3*time.Minute), p.kill) // a person kills it
		return
	}
	w.after(took, func() { p.finish(c.Searcher, s) })
}

func (p *proc) time(task uint64) time.Duration {
	return time.Duration(p.w.setup.seconds[task] / p.machine.speed * float64(time.Second))
}

// finish ends a search, with the counts of all tasks that it has counted by now.
func (p *proc) finish(searcher int, s *search) {
	p.input(func() {
		if p.searches[searcher] != s {
			return
		}
		p.searches[searcher] = nil
		var results []queens.Result
		at, searched := s.began, p.w.now-s.began
		if p.machine.lies == honest {
			p.w.searched += searched
		}
		for _, chunk := range s.chunks {
			r := queens.Result{Range: chunk.Range, Ticket: chunk.Ticket, Kernel: p.machine.kernel,
				Searched: searched / time.Duration(len(s.chunks))}
			r.Counted.First = chunk.First
			for task := chunk.First; task < chunk.End(); task++ {
				at += p.time(task)
				if at > p.w.now || s.hangs || p.w.setup.poison[task] {
					break
				}
				r.Counted.Tasks++
				r.Counts = append(r.Counts, p.count(task))
				p.w.counted[task]++
			}
			if r.Counted.Tasks > 0 {
				results = append(results, r)
			}
		}
		p.core.Searched(p.w.now, searcher, results)
	})
}

// count returns the machine's count of a task, which may be wrong.
func (p *proc) count(task uint64) uint64 {
	truth := p.w.truth[task]
	switch m := p.machine; m.lies {
	case constant, agreeing:
		return truth + m.offset
	case rare:
		if (task*7+m.offset)%5 == 0 {
			return truth + m.offset
		}
	case random:
		if x := p.w.faults.between(0, 6); x < 3 {
			return truth + m.offset + uint64(x)
		}
	}
	return truth
}
