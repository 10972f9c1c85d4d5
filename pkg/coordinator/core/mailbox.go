package core

import (
	"cmp"
	"container/heap"
	"container/list"
	"time"

	"nqueens/pkg/queens"
)

// Mailbox has the messages of workers that the coordinator has not read yet. It keeps the newest
// request and the newest delivery of each process, and hands out deliveries before requests. Of
// several users it serves the one that was served least, then likewise of its witnesses, and of
// equals the one with the newest message. So a coordinator with more messages than it can read
// reads those whose senders still wait for the reply, and no number of names keeps another user
// waiting. The worker sends again what is dropped.
//
// References: [Spread] B. Maurer, "Fail at scale", ACM Queue 13 (2015); [Fair] P. Goyal, H. M. Vin,
// H. Cheng, "Start-time fair queueing", SIGCOMM 1996.
type Mailbox struct {
	places  map[place]*entry
	lines   [2]line    // of deliveries and of requests
	all     *list.List // entries, in the order in which they came
	number  uint64     // of the last entry
	senders map[string]*sender
	largest bySize // the senders, as a heap
	bytes   int
	unread  []queens.Process // see Unread
	isBusy  bool             // likewise
	isNoted map[queens.Process]bool
	dropped uint64
}

// MaxMailbox bounds the messages in a mailbox, in bytes. Each counts for at least entryBytes.
const (
	MaxMailbox = 64 << 20
	entryBytes = 1 << 10
)

// Message is a message of a worker that is not decoded.
type Message struct {
	From       queens.Process
	IsDelivery bool
	Bytes      int
	Content    any
}

type place struct {
	queens.Process
	isDelivery bool
}

// entry is a message and its places.
type entry struct {
	Message
	at                    time.Duration
	number                uint64
	inAll, inSender, inOf *list.Element
}

// sender is a user with entries.
type sender struct {
	user    string
	entries *list.List // in the order in which they came
	bytes   int
	place   int // in the heap of senders
}

// bySize is a heap of senders. The one with the most bytes comes first.
type bySize []*sender

func (s bySize) Len() int           { return len(s) }
func (s bySize) Less(i, j int) bool { return s[i].bytes > s[j].bytes }
func (s bySize) Swap(i, j int) {
	s[i], s[j] = s[j], s[i]
	s[i].place, s[j].place = i, j
}
func (s *bySize) Push(x any) {
	x.(*sender).place = len(*s)
	*s = append(*s, x.(*sender))
}
func (s *bySize) Pop() any {
	last := (*s)[len(*s)-1]
	*s = (*s)[:len(*s)-1]
	return last
}

// line has the entries of one kind: of users, and of the witnesses of each user.
type line struct {
	turns
	users map[string]*userTurn
}

type userTurn struct {
	turn
	turns
	witnesses map[queens.Witness]*witnessTurn
}

type witnessTurn struct {
	turn
	witness queens.Witness
	entries *list.List // in the order in which they came
}

// turn says when somebody with entries is served.
type turn struct {
	number uint64 // how often it was served; it begins with the number of those that wait
	newest uint64 // number of the entry that came last
	place  int    // in the heap
	of     any
}

// turns is a heap of those with entries. It begins with the one to serve next.
type turns struct {
	heap   []*turn
	served uint64 // number of the turn that was served last
}

// add adds a turn.
func (t *turns) add(of *turn) {
	of.number = t.served
	heap.Push(t, of)
}

// next serves a turn.
func (t *turns) next() *turn {
	of := t.heap[0]
	t.served = of.number
	of.number++
	heap.Fix(t, 0)
	return of
}

func (t *turns) Len() int { return len(t.heap) }
func (t *turns) Less(i, j int) bool {
	a, b := t.heap[i], t.heap[j]
	return cmp.Or(cmp.Compare(a.number, b.number), cmp.Compare(b.newest, a.newest)) < 0
}
func (t *turns) Swap(i, j int) {
	t.heap[i], t.heap[j] = t.heap[j], t.heap[i]
	t.heap[i].place, t.heap[j].place = i, j
}
func (t *turns) Push(x any) {
	x.(*turn).place = len(t.heap)
	t.heap = append(t.heap, x.(*turn))
}
func (t *turns) Pop() any {
	last := t.heap[len(t.heap)-1]
	t.heap = t.heap[:len(t.heap)-1]
	return last
}

// NewMailbox returns an empty mailbox.
func NewMailbox() *Mailbox {
	m := &Mailbox{places: map[place]*entry{}, all: list.New(), senders: map[string]*sender{},
		isNoted: map[queens.Process]bool{}}
	for i := range m.lines {
		m.lines[i].users = map[string]*userTurn{}
	}
	return m
}

// Put puts a message into the place of its process.
func (m *Mailbox) Put(now time.Duration, message Message) {
	m.expire(now)
	at := place{message.From, message.IsDelivery}
	if old := m.places[at]; old != nil {
		m.drop(now, old)
	}
	m.number++
	message.Bytes = max(message.Bytes, entryBytes)
	l := &entry{Message: message, at: now, number: m.number}
	m.places[at], l.inAll = l, m.all.PushBack(l)
	m.lineOf(l).put(l)
	s := m.senders[l.From.Machine.User]
	if s == nil {
		s = &sender{user: l.From.Machine.User, entries: list.New()}
		m.senders[s.user] = s
		heap.Push(&m.largest, s)
	}
	l.inSender = s.entries.PushBack(l)
	m.resize(s, l.Bytes)
	for m.bytes > MaxMailbox {
		m.isBusy = true
		m.drop(now, m.largest[0].entries.Front().Value.(*entry))
	}
}

// Take returns the message to read next, and how long it has waited. It returns false if there is
// none.
func (m *Mailbox) Take(now time.Duration) (message Message, waited time.Duration, found bool) {
	m.expire(now)
	for i := range m.lines {
		line := &m.lines[i]
		if len(line.heap) == 0 {
			continue
		}
		user := line.next().of.(*userTurn)
		witness := user.next().of.(*witnessTurn)
		l := witness.entries.Back().Value.(*entry)
		m.remove(l)
		return l.Message, now - l.at, true
	}
	return message, 0, false
}

// Unread returns the processes of which a message was dropped unread since the last call: they have
// spoken. It is busy if there was no room, or such a message had waited for busyAfter. A message
// that was replaced earlier shows nothing: its worker has news.
func (m *Mailbox) Unread() (from []queens.Process, busy bool) {
	from, busy = m.unread, m.isBusy
	m.unread, m.isBusy = nil, false
	clear(m.isNoted)
	return from, busy
}

// busyAfter is how long messages wait if there are more than can be read.
const busyAfter = 2 * time.Second

// Dropped returns how many messages were dropped unread, because they were replaced or too old, or
// because there was no room.
func (m *Mailbox) Dropped() uint64 { return m.dropped }

// Waiting returns how long the message that came first has waited.
func (m *Mailbox) Waiting(now time.Duration) time.Duration {
	m.expire(now)
	if m.all.Len() == 0 {
		return 0
	}
	return now - m.all.Front().Value.(*entry).at
}

// expire drops what is too old.
func (m *Mailbox) expire(now time.Duration) {
	for m.all.Len() > 0 {
		l := m.all.Front().Value.(*entry)
		if now-l.at < queens.LongestReply { // its sender still waits for the reply
			return
		}
		m.drop(now, l)
	}
}

// drop removes an unread entry.
func (m *Mailbox) drop(now time.Duration, l *entry) {
	m.isBusy = m.isBusy || now-l.at >= busyAfter
	m.remove(l)
	m.dropped++
	if !m.isNoted[l.From] && len(m.unread) < mostWorkers {
		m.isNoted[l.From], m.unread = true, append(m.unread, l.From)
	}
}

// remove removes a entry.
func (m *Mailbox) remove(l *entry) {
	delete(m.places, place{l.From, l.IsDelivery})
	m.all.Remove(l.inAll)
	m.lineOf(l).remove(l)
	s := m.senders[l.From.Machine.User]
	s.entries.Remove(l.inSender)
	m.resize(s, -l.Bytes)
	if s.entries.Len() == 0 {
		heap.Remove(&m.largest, s.place)
		delete(m.senders, s.user)
	}
}

func (m *Mailbox) resize(s *sender, change int) {
	m.bytes += change
	s.bytes += change
	heap.Fix(&m.largest, s.place)
}

func (m *Mailbox) lineOf(l *entry) *line {
	if l.IsDelivery {
		return &m.lines[0]
	}
	return &m.lines[1]
}

func (n *line) put(l *entry) {
	name, witness := l.From.Machine.User, l.From.Machine.Witness()
	u := n.users[name]
	if u == nil {
		u = &userTurn{witnesses: map[queens.Witness]*witnessTurn{}}
		u.of, n.users[name] = u, u
		n.add(&u.turn)
	}
	w := u.witnesses[witness]
	if w == nil {
		w = &witnessTurn{witness: witness, entries: list.New()}
		w.of, u.witnesses[witness] = w, w
		u.add(&w.turn)
	}
	l.inOf = w.entries.PushBack(l)
	w.newest, u.newest = l.number, l.number
	heap.Fix(&u.turns, w.turn.place)
	heap.Fix(&n.turns, u.turn.place)
}

func (n *line) remove(l *entry) {
	name := l.From.Machine.User
	u := n.users[name]
	w := u.witnesses[l.From.Machine.Witness()]
	w.entries.Remove(l.inOf)
	if w.entries.Len() > 0 {
		return
	}
	heap.Remove(&u.turns, w.turn.place)
	delete(u.witnesses, w.witness)
	if len(u.witnesses) == 0 {
		heap.Remove(&n.turns, u.turn.place)
		delete(n.users, name)
	}
}
