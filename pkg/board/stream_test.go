package board

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// Text boards are separated by empty lines; boards in JSON take a line each.
func TestStream(t *testing.T) {
	for format, want := range map[string]string{
		"text": "Q\n\n.Q\nQ.\n1 image\n",
		"json": "[0]\n{\"columns\":[1,0],\"images\":1}\n",
	} {
		var b strings.Builder
		s := NewStream(&b, format)
		for _, board := range []Board{{Columns: []int{0}}, {Columns: []int{1, 0}, Images: 1}} {
			if err := s.Write(board); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Close(); err != nil || b.String() != want {
			t.Errorf("%s: %q, error %v, want %q", format, b.String(), err, want)
		}
	}
}

// A board does not stay in the buffer until the next one is found.
func TestStreamFlushes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b strings.Builder
		s := NewStream(&b, "json")
		if err := s.Write(Board{Columns: []int{0}}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * flushDelay)
		synctest.Wait()
		if b.Len() == 0 {
			t.Error("nothing is written yet")
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	})
}
