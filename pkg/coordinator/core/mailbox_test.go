package core

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"nqueens/pkg/queens"
)

// A mailbox keeps the newest message of each kind of a process, and hands out deliveries first,
// then what came last. It drops what is too old. Senders of dropped messages have spoken.
func TestMailbox(t *testing.T) {
	m := NewMailbox()
	from := func(user, machine, name string) queens.Process {
		return queens.Process{Machine: queens.Machine{User: user, Name: machine}, Name: name}
	}
	put := func(at time.Duration, p queens.Process, isDelivery bool, text string) {
		m.Put(at, Message{From: p, IsDelivery: isDelivery, Content: text})
	}
	expect := func(now time.Duration, want ...string) {
		t.Helper()
		var got []string
		for {
			message, waited, found := m.Take(now)
			if !found {
				break
			}
			got = append(got, fmt.Sprint(message.Content, " ", waited))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q are read, not %q", got, want)
		}
	}
	a, b := from("worker", "a", "1"), from("worker", "b", "1")
	put(0, a, false, "a asks")
	put(1*time.Second, b, true, "b delivers")
	put(2*time.Second-1, a, false, "a asks again")
	put(2*time.Second, b, false, "b asks")
	expect(3*time.Second, "b delivers 2s", "b asks 1s", "a asks again 1.000000001s")
	if unread, busy := m.Unread(); !slices.Equal(unread, []queens.Process{a}) || busy ||
		m.Dropped() != 1 {
		t.Errorf("%v have spoken, busy: %v, %d messages are dropped", unread, busy, m.Dropped())
	}
	put(5*time.Second, a, false, "a asks")
	put(5*time.Second+busyAfter, a, false, "a asks again")
	if _, busy := m.Unread(); !busy {
		t.Error("a message that waited for long was replaced, and the mailbox is not busy")
	}
	expect(5*time.Second+busyAfter, "a asks again 0s")
	put(10*time.Second, a, false, "a asks")
	put(13*time.Second, b, true, "b delivers")
	expect(17*time.Second, "b delivers 4s")
	if unread, busy := m.Unread(); !slices.Equal(unread, []queens.Process{a}) || !busy {
		t.Errorf("%v have spoken, busy: %v", unread, busy)
	}
	// users, and witnesses of a user, are served in turn
	for i := range 3 {
		at := time.Minute + time.Duration(i)
		put(at, from("worker", "a", fmt.Sprint(i)), false, fmt.Sprint("a", i))
		put(at, from("alice", "x", fmt.Sprint(i)), false, fmt.Sprint("alice", i))
	}
	put(time.Minute, b, false, "b")
	expect(time.Minute, "b 0s", "alice2 -2ns", "a2 -2ns", "alice1 -1ns", "a1 -1ns", "alice0 0s",
		"a0 0s")
}

// However many messages and names a user sends, those of another user are read, and the mailbox
// stays small.
func TestMailboxFlood(t *testing.T) {
	m := NewMailbox()
	honest := queens.Process{Machine: queens.Machine{User: "honest", Name: "h"}, Name: "h"}
	m.Put(0, Message{From: honest, Content: "honest"})
	for i := range 300_000 {
		m.Put(time.Duration(i), Message{Bytes: 1 << (i % 21), From: queens.Process{Name: fmt.Sprint(i),
			Machine: queens.Machine{User: "flood", Name: fmt.Sprint(i)}}})
	}
	unread, busy := m.Unread()
	if !busy {
		t.Error("there was no room, and the mailbox is not busy")
	}
	bytes := 0
	for _, l := range m.places {
		bytes += l.Bytes
	}
	if bytes != m.bytes || bytes > MaxMailbox || len(unread) > mostWorkers {
		t.Errorf("the mailbox has %d bytes, says %d, and notes %d names", bytes, m.bytes, len(unread))
	}
	for i := 0; ; i++ {
		message, _, found := m.Take(time.Second)
		if message.Content == "honest" {
			break
		}
		if !found || i > 1 {
			t.Fatal("the honest message is not read")
		}
	}
	for range m.all.Len() {
		m.Take(time.Second)
	}
	if _, _, found := m.Take(time.Second); found || m.bytes != 0 || len(m.places) != 0 ||
		len(m.senders) != 0 || len(m.lines[1].users) != 0 {
		t.Errorf("an empty mailbox has %d bytes and %d places", m.bytes, len(m.places))
	}
}
