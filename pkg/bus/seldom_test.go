package bus

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// What lasts is logged at first and then once in a while, each text for itself.
func TestSeldomLetsEachTextThroughOnceInAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s seldom
		expect := func(text string, want bool) {
			t.Helper()
			if due := s.due(text); due != want {
				t.Errorf("%q is due: %v, want %v", text, due, want)
			}
		}
		expect("a", true)
		expect("a", false)
		time.Sleep(sayEvery / 2)
		expect("b", true)
		expect("a", false)
		time.Sleep(sayEvery / 2)
		expect("a", true)
		expect("b", false)
		expect("a", false)
	})
}

// Texts that come from outside can't fill the memory, nor keep old ones silent.
func TestSeldomIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s seldom
		through := 0
		for i := range 10 * maxTexts {
			if s.due(fmt.Sprint(i)) {
				through++
			}
		}
		if through != maxTexts || len(s.last) != maxTexts {
			t.Errorf("%d texts came through and %d are kept, want %d", through, len(s.last), maxTexts)
		}
		time.Sleep(sayEvery)
		if !s.due("0") {
			t.Error("a text that is known is not due again")
		}
	})
}
