package dashboard

import (
	"testing"
	"testing/synctest"
	"time"

	"nqueens/pkg/run"
)

// A history has the last hour in rows of five seconds, and all time before it in rows that grow with it, also what other
// coordinators have measured; there are at most a thousand.
func TestHistory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, begun := serve(t, Config{}), float64(time.Now().Unix())
		at := func(second int) *run.Snapshot {
			p := snapshot(5)
			p.Elapsed.Duration = time.Duration(second) * time.Second
			return p
		}
		stored := run.NewHistory(run.MaxHistory)
		for second := range 3600 {
			stored.Observe(time.Duration(second)*time.Second, at(second))
		}
		time.Sleep(3600 * time.Second)
		s.SetHistory(stored)
		for second := 3600; second < 5*3600; second++ {
			s.Update(at(second))
			time.Sleep(time.Second)
		}
		columns := s.object(apiRoot + "/history")["columns"].(map[string]any)
		times := columns["time"].([]any)
		if len(times) < 800 || len(times) > 1000 || times[0] != begun {
			t.Errorf("%d rows, the first is of %v, want at most 1000 from %v", len(times), times[0], begun)
		}
		now := float64(time.Now().Unix())
		for i := range times[1:] {
			gap, age := times[i+1].(float64)-times[i].(float64), now-times[i].(float64)
			if gap <= 0 || age < recentSpan.Seconds()-10 && gap > recentInterval.Seconds() || gap > 300 {
				t.Errorf("row %d is %v s after the one before, %v s ago", i+1, gap, age)
			}
		}
		for name, want := range map[string]float64{"rate": 5, "percent": 50, "threads": 2, "workers": 1} {
			if got := columns[name].([]any); len(got) != len(times) || got[0] != want || got[len(got)-1] != want {
				t.Errorf("%s: %v and %v, want %v", name, got[0], got[len(got)-1], want)
			}
		}
	})
}
