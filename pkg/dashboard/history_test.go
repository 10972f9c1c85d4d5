package dashboard

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// The rows of a history have the times of their begin, the smoothed rates that the page shows, and what was
// measured since the last row; there are at most maxRows.
func TestHistory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t, Config{}, nil)
		own, begun := s.Open(ownRun, nil), float64(time.Now().Unix())
		for i := range 6 {
			own.Update(snapshot(uint64(i)))
			time.Sleep(time.Second / 2)
		}
		columns := s.object(apiRoot + "runs/" + ownRun + "/history")["columns"].(map[string]any)
		for name, want := range map[string][]any{
			"time": {begun, begun + 1, begun + 2}, "rate": {5.0, 5.0, 5.0}, "percent": {20.0, 40.0, 50.0}, "threads": {2.0, 2.0, 2.0}, "workers": {1.0, 1.0, 1.0},
		} {
			if got := columns[name].([]any); !slices.Equal(got, want) {
				t.Errorf("%s: %v, want %v", name, got, want)
			}
		}
		for range 3 * maxRows {
			own.Update(snapshot(5))
			time.Sleep(time.Second)
		}
		columns = s.object(apiRoot + "runs/" + ownRun + "/history")["columns"].(map[string]any)
		if times := columns["time"].([]any); len(times) < maxRows/2 || len(times) > maxRows || times[0] != begun {
			t.Errorf("%d rows, the first is of %v, want at most %d from %v", len(times), times[0], maxRows, begun)
		}
	})
}
