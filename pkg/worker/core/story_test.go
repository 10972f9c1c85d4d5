package core

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"nqueens/pkg/queens"
	"nqueens/pkg/testkit"
)

// The stories in testdata are the specification of the core. An input begins with a time in
// seconds. The lines below it are the commands that follow.
func TestStories(t *testing.T) {
	testkit.Stories(t, "testdata/*.txt",
		func(t *testing.T, out *strings.Builder) func(words []string) {
			w := &storyWorker{t: t}
			return func(words []string) { w.input(words, out) }
		})
}

// storyWorker is a core, with the commands to which later inputs of the story refer.
type storyWorker struct {
	t      *testing.T
	core   *Core
	now    time.Duration
	asked  map[string]uint64  // number of the last request of each run
	sent   map[string]Deliver // last delivery of each run
	search map[int]Search     // last search of each searcher
	pulses []uint64
}

func (w *storyWorker) input(words []string, out *strings.Builder) {
	if words[0] == "worker" {
		searchers := w.number(words[1])
		w.core, w.asked, w.sent, w.search = New(searchers, len(words) > 2), map[string]uint64{},
			map[string]Deliver{}, map[int]Search{}
		w.pulses = make([]uint64, searchers)
		return
	}
	at, err := time.ParseDuration(words[0] + "s")
	if err != nil || at < w.now {
		w.t.Fatalf("time %q: %v", words[0], err)
	}
	for w.core.Next() < at { // ticks that are due before
		w.now = w.core.Next()
		w.core.Tick(w.now)
		w.print(out, true)
	}
	w.now = at
	verb, args := words[1], words[2:]
	switch verb {
	case "announce": // RUN INSTANCE work|empty|STATE [RANDOM]
		a := queens.Announcement{Run: args[0], Instance: uint64(w.number(args[1])), State: queens.Running,
			Work: args[2] == "work"}
		if args[2] != "work" && args[2] != "empty" {
			a.State = queens.State(args[2])
		}
		random := 0.0
		if len(args) > 3 {
			random, _ = strconv.ParseFloat(args[3], 64)
		}
		w.core.Announced(at, a, random)
	case "reply":
		reply := w.reply(args)
		w.core.Replied(at, args[0], reply.Number, reply)
	case "fail": // RUN: its last request gets no reply
		w.core.Replied(at, args[0], w.asked[args[0]], nil)
	case "recorded", "refused", "late": // RUN: its last delivery is
		reply := &queens.DeliveryReply{}
		why := map[string]string{"refused": "a wrong ticket", "late": queens.RunHasEnded}[verb]
		for range w.sent[args[0]].Delivery.Results {
			r := queens.Receipt{Recorded: verb == "recorded", Refused: why}
			reply.Receipts = append(reply.Receipts, r)
		}
		w.core.Receipted(at, args[0], w.sent[args[0]].Number, reply)
	case "receipts": // RUN NUMBER: a reply to its last delivery has as many receipts
		reply := &queens.DeliveryReply{}
		for range w.number(args[1]) {
			reply.Receipts = append(reply.Receipts, queens.Receipt{Recorded: true})
		}
		w.core.Receipted(at, args[0], w.sent[args[0]].Number, reply)
	case "undelivered": // RUN: its last delivery gets no reply
		w.core.Receipted(at, args[0], w.sent[args[0]].Number, nil)
	case "searched": // SEARCHER [TASKS]: with counts of the first TASKS tasks of each chunk
		i := w.number(args[0])
		results := w.results(w.search[i], args[1:])
		delete(w.search, i)
		w.core.Searched(at, i, results)
	case "poll": // SEARCHER...: these have advanced
		for _, arg := range args {
			w.pulses[w.number(arg)]++
		}
		w.core.Pulsed(at, w.pulses)
	case "leave":
		w.core.Leave(at)
	case "tick":
		w.core.Tick(at)
	case "waits": // print for what it waits
		fmt.Fprintf(out, "for %s\n", w.core.Stats(at).Reason)
	default:
		w.t.Fatalf("unknown input %q", verb)
	}
	w.print(out, false)
	if w.core.Left(at) {
		fmt.Fprintln(out, "left")
	}
}

// reply parses a reply:
// RUN INSTANCE [to NUMBER] [kept SECONDSs] [drop RANGE]... [CHUNK]... [refused]. A chunk is
// CLASS:RANGE. By default, the reply is to the last request.
func (w *storyWorker) reply(args []string) *queens.WorkReply {
	reply := &queens.WorkReply{Number: w.asked[args[0]], Instance: uint64(w.number(args[1]))}
	for i := 2; i < len(args); i++ {
		class, of, isChunk := strings.Cut(args[i], ":")
		switch {
		case args[i] == "to":
			i++
			reply.Number = uint64(w.number(args[i]))
		case args[i] == "kept":
			i++
			reply.Kept, _ = time.ParseDuration(args[i])
		case args[i] == "drop":
			i++
			reply.Drop = append(reply.Drop, w.rangeOf(args[i]))
		case args[i] == "refused":
			reply.Refused = "a wrong count"
		case isChunk:
			c := queens.Chunk{Range: w.rangeOf(of), Board: queens.Board{N: w.number(class)}}
			c.Ticket[0] = byte(c.First)
			reply.Chunks = append(reply.Chunks, c)
		}
	}
	return reply
}

// results returns the results of a search: of the first tasks of each chunk, by default of all.
func (w *storyWorker) results(search Search, tasks []string) (results []queens.Result) {
	for _, c := range search.Chunks {
		counted := c.Range
		if len(tasks) > 0 {
			counted.Tasks = uint64(w.number(tasks[0]))
		}
		if counted.Tasks > 0 {
			results = append(results, queens.Result{Range: c.Range, Ticket: c.Ticket, Counted: counted,
				Counts: make([]uint64, counted.Tasks)})
		}
	}
	return results
}

// print writes the commands, and before each of them the time if timed is true.
func (w *storyWorker) print(out *strings.Builder, timed bool) {
	for _, command := range w.core.Commands() {
		if timed {
			fmt.Fprintf(out, "%gs: ", w.now.Seconds())
		}
		switch c := command.(type) {
		case Ask:
			w.asked[c.Run] = c.Request.Number
			fmt.Fprintf(out, "ask %s #%d seen #%d want %d", c.Run, c.Request.Number, c.Request.Seen,
				c.Request.Want)
			for _, h := range c.Request.Held {
				fmt.Fprintf(out, " %s", h.Range)
				if h.Searched > 0 {
					fmt.Fprintf(out, "(%.1fs)", h.Searched.Seconds())
				}
			}
			if c.Request.Leaving {
				fmt.Fprint(out, " leaving")
			}
		case Deliver:
			w.sent[c.Run] = c
			fmt.Fprintf(out, "deliver %s", c.Run)
			for _, r := range c.Delivery.Results {
				fmt.Fprintf(out, " %s", r.Counted)
			}
		case Search:
			w.search[c.Searcher] = c
			fmt.Fprintf(out, "search %d %s", c.Searcher, c.Run)
			for _, h := range c.Chunks {
				fmt.Fprintf(out, " %s", h.Range)
			}
		case Stop:
			fmt.Fprintf(out, "stop %d", c.Searcher)
		case Note:
			kind := map[bool]string{false: "note", true: "warning"}[c.Warn]
			fmt.Fprintf(out, "%s about %s", kind, c.Run)
		}
		fmt.Fprintln(out)
	}
}

func (w *storyWorker) number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		w.t.Fatal(err)
	}
	return n
}

func (w *storyWorker) rangeOf(text string) queens.Range {
	first, last, several := strings.Cut(text, "-")
	r := queens.Range{First: uint64(w.number(first)), Tasks: 1}
	if several {
		r.Tasks = uint64(w.number(last)) - r.First + 1
	}
	return r
}
