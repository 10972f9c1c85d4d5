package coordinator

import (
	"testing"
	"testing/synctest"
	"time"

	"nqueens/pkg/coordinator/core"
	"nqueens/pkg/queens"
	"nqueens/pkg/testkit"
)

// measure returns the longest wait of the messages that were read since the last call or are not
// read yet.
func TestPostMeasures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, start := newPost(), time.Now()
		put := func(machine string, isDelivery bool) {
			from := queens.Process{Machine: testkit.Machine(machine), Name: "p"}
			p.put(time.Since(start), core.Message{From: from, IsDelivery: isDelivery})
		}
		expect := func(about string, want time.Duration) {
			t.Helper()
			if waited, dropped := p.measure(time.Since(start)); waited != want || dropped != 0 {
				t.Errorf("%s: waited %v, %d dropped, want %v and 0", about, waited, dropped, want)
			}
		}
		put("a", true)
		time.Sleep(2 * time.Second)
		put("a", false)
		time.Sleep(time.Second)
		for range 2 { // the delivery comes first
			if _, ok := p.next(t.Context(), start); !ok {
				t.Fatal("no message")
			}
		}
		expect("two messages were read", 3*time.Second)
		expect("none since", 0)
		put("b", false)
		time.Sleep(4 * time.Second)
		put("c", true)
		if m, _ := p.next(t.Context(), start); m.From.Machine.Name != "c" {
			t.Error("a request is read before a delivery")
		}
		expect("the older of two is not read", 4*time.Second)
	})
}
