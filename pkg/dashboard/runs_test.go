package dashboard

import (
	"context"
	"errors"
	"io"
	"math/big"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"nqueens/pkg/queens"
	"nqueens/pkg/report"
	"nqueens/pkg/run"
)

// A page of runs lists them, those that have ended with a link to their report, which may load nothing. Names are texts.
// With a token, all of it needs that.
func TestRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		counting := report.ListedRun{Snapshot: *snapshot(4), Status: "running", Created: time.Now()}
		ended := report.ListedRun{Snapshot: *complete(), Status: "complete"}
		ended.Run, ended.Total = "n8-ended", (*run.Decimal)(big.NewInt(14772512))
		odd := report.ListedRun{Snapshot: run.Snapshot{Run: hostile}, Status: "unreadable"}
		runs := &Runs{
			List: func() ([]report.ListedRun, error) { return []report.ListedRun{counting, ended, odd}, nil },
			Report: func(_ context.Context, w io.Writer, name string) error {
				if queens.ValidateRun(name) != nil {
					t.Errorf("a report of %q is asked for", name)
				}
				switch name {
				case "n8-ended":
					_, err := io.WriteString(w, "<!doctype html>the report")
					return err
				case "n8-broken":
					return errors.New("the disk is broken")
				}
				return ErrNoReport
			},
		}
		s := serve(t, Config{Runs: runs})
		_, text := s.get("/")
		for _, want := range []string{`<a href="runs/n8-ended">n8-ended</a>`, "<strong>14,772,512</strong>", "40.0% done", ">published<", "&lt;/script&gt;"} {
			if !strings.Contains(text, want) {
				t.Errorf("the list has no %s: %s", want, text)
			}
		}
		if strings.Contains(text, "runs/"+ownRun) || strings.Contains(text, hostile) {
			t.Errorf("the list is %s", text)
		}
		for path, want := range map[string]int{
			"/runs/n8-ended": http.StatusOK, "/runs/n8-broken": http.StatusServiceUnavailable, "/runs/" + ownRun: http.StatusNotFound,
			"/runs/": http.StatusNotFound, "/runs/..%2Felsewhere": http.StatusNotFound, "/api/v1/runs": http.StatusNotFound, apiRoot: http.StatusNotFound, "/style.css": http.StatusOK,
		} {
			response, text := s.get(path)
			if response.StatusCode != want {
				t.Errorf("%s: %s %s", path, response.Status, text)
			}
			if policy := response.Header.Get("Content-Security-Policy"); path == "/runs/n8-ended" && policy != reportPolicy || strings.Contains(policy, "script-src 'unsafe") {
				t.Errorf("%s: the policy is %s", path, policy)
			}
		}
		guarded := serve(t, Config{Runs: runs, Token: token})
		for _, path := range []string{"/", "/runs/n8-ended"} {
			if response, text := guarded.get(path); response.StatusCode != http.StatusUnauthorized || strings.Contains(text, "n8-ended") {
				t.Errorf("without the token, %s: %s %s", path, response.Status, text)
			}
		}
	})
}
