package watch

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"nqueens/pkg/dashboard"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
)

func (s *fakeServer) Records(context.Context) (records []run.Record, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.records {
		records = append(records, r)
	}
	return records, s.err
}

// shown asks a page for a path of the API.
func shown(t *testing.T, page *dashboard.Page, path string) (object map[string]any) {
	t.Helper()
	request := httptest.NewRequest(http.MethodGet, "http://localhost/api/v1/runs"+path, http.NoBody)
	w := httptest.NewRecorder()
	page.ServeHTTP(w, request)
	if err := json.Unmarshal(w.Body.Bytes(), &object); err != nil {
		t.Fatalf("%s: %v in %s", path, err, w.Body)
	}
	return object
}

// A page shows the runs of the server, and one that it follows with its classes and why there is no news,
// to its end.
func TestRunsOnAPage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := running()
		r := server.records["n8-a"]
		board := queens.FullBoard(8)
		r.Manifest.Classes = []queens.ClassPlan{{Class: queens.Class{K: 8, Board: board}, Depth: 1, Batch: 2}}
		server.set(func(s *fakeServer) { s.records["n8-a"] = r })
		page, err := dashboard.New(dashboard.Config{Source: dashboard.Watch})
		if err != nil {
			t.Fatal(err)
		}
		page.SetServer(Server{Address: "nats://fake", Connection: server, Registry: server, Telemetry: server})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { page.Run(ctx); close(ended) }()
		list := shown(t, page, "")["runs"].([]any)
		if len(list) != 1 || list[0].(map[string]any)["server"] != "nats://fake" {
			t.Errorf("the runs are %v", list)
		}
		if refused := shown(t, page, "/n8-b"); refused["error"] == nil {
			t.Errorf("an unknown run: %v", refused)
		}
		shown(t, page, "/n8-a") // has it followed
		look := func(path string) map[string]any {
			synctest.Wait()
			return shown(t, page, path)
		}
		synctest.Wait()
		server.each(new(snapshot(run.Running, 1)))
		if got := look("/n8-a"); got["done"] != 1.0 || got["source"] != "watch" || got["status"] != nil {
			t.Errorf("followed: %v", got)
		}
		if class := look("/n8-a/classes")["classes"].([]any)[0].(map[string]any); class["work"] != 1.0 || class["tasks"] != 4.0 || class["done"] != nil {
			t.Errorf("the class is %v", class)
		}
		server.set(func(s *fakeServer) { s.down = true })
		elapse(2 * time.Second)
		if got := look("/n8-a"); got["status"] == nil {
			t.Errorf("the server is away: %v", got)
		}
		server.set(func(s *fakeServer) { s.down = false })
		server.put("n8-a", run.Complete, time.Now())
		elapse(2 * time.Second)
		server.each(new(completeSnapshot(92)))
		elapse(2 * time.Second)
		if got := look("/n8-a"); got["state"] != "complete" || got["total"] != "92" || got["known"] != "match" {
			t.Errorf("in the end: %v", got)
		}
		stop()
		<-ended
	})
}
