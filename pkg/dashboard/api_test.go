package dashboard

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/bits"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"nqueens/pkg/queens"
	"nqueens/pkg/run"
)

// detailOf returns a detail of a run with that many workers, whose names are hostile.
func detailOf(m *queens.Manifest, workers int) *run.Detail {
	d := &run.Detail{
		At: time.Now(), Redundancy: 2, SpotCheck: run.AutoSpotCheck, Confirmation: run.Confirmation{Redundancy: 1, Tasks: 4, Checked: 1},
		Disputes:    []run.Dispute{{Task: 7, Votes: []run.Result{{Count: 1 << 60, Worker: "a", Key: "A"}, {Count: 2, Worker: run.Referee}}}},
		Quarantined: []run.QuarantinedKey{{Key: "B", Worker: hostile, Reason: "it counted 1, which is 2", At: time.Now()}},
	}
	for i := range workers {
		d.Workers = append(d.Workers, run.Worker{
			Name: fmt.Sprint(hostile, i), Kernel: "generic", Threads: 1, Key: "K", Tasks: 3, Quarantined: i == 0,
		})
	}
	for i := range m.Classes {
		d.Classes = append(d.Classes, run.ClassCounts{Work: 0.5, Done: 1, InFlight: m.TasksOf(i) - min(m.TasksOf(i), 1)})
	}
	for i := range m.Classes {
		if m.TasksOf(i) == 0 {
			continue
		}
		column := bits.TrailingZeros32(m.Classes[i].Board.Allow[0])
		d.Search = &run.Search{Task: m.Classes[i].First, Worker: hostile, Class: i, Queens: []int{column}}
		break
	}
	return d
}

const hostile = `</script><img src=x onerror=alert(1)>"`

// A coordinator's page has everything, a watcher's only what messages say. Texts from outside stay
// texts.
func TestObjects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := plan(t)
		m.Placed = []queens.Square{{Row: 1, Column: 2}}
		s := serve(t, Config{})
		detail := detailOf(m, 300)
		s.SetDetail(func(context.Context) (*run.Detail, error) { return detail, nil })
		path := apiRoot
		if response, _ := s.get(path); response.StatusCode != http.StatusServiceUnavailable {
			t.Errorf("before the first snapshot: %s", response.Status)
		}
		now := snapshot(4)
		now.Placed, now.States, now.IdleThreads = m.Placed, run.TaskStates{InFlight: 3, Waiting: 2, Disputed: 1}, 5
		s.Update(now)
		s.SetManifest(m, nil, []int{0, 4, 7, 5, 2, 6, 1, 3})
		s.SetStatus("server\x1b[2J away")
		_, text := s.get(path)
		if strings.Contains(text, "</script>") {
			t.Errorf("it holds a tag: %s", text)
		}
		got := s.object(path)
		if got["status"] != "server?[2J away" || got["listed_workers"] != 300.0 || got["idle_threads"] != 5.0 || got["redundancy"] != 2.0 ||
			fmt.Sprint(got["states"]) != "map[dead_lettered:0 disputed:1 in_flight:3 waiting:2]" || fmt.Sprint(got["placed"]) != "[[1 2]]" ||
			fmt.Sprint(got["checks"]) != "map[by_token:0 checked:1 disputes:0 keys:1 missed:0 published:false sampled:false tasks:4 unadmitted:0 voters:0]" || got["total"] != nil || got["known"] != nil || got["worker_list"] != nil ||
			fmt.Sprint(got["open_disputes"]) != "[map[task:7 votes:[map[count:1152921504606846976 key:A worker:a] map[count:2 key: worker:"+run.Referee+"]]]]" {
			t.Errorf("the run is %v", got)
		}
		prefix, _ := got["prefix"].(map[string]any)
		if prefix["row"] != 1.0 || len(prefix["queens"].([]any)) != 1 || prefix["worker"] != hostile {
			t.Errorf("the prefix is %v", prefix)
		}
		workers := s.object(path + "/workers")
		list := workers["workers"].([]any)
		if first := list[0].(map[string]any); len(list) != 300 || workers["left_out"] != 0.0 || first["quarantined"] != true || first["tasks"] != 3.0 || first["key"] != "K" {
			t.Errorf("%d workers, the first is %v", len(list), list[0])
		}
		all := 0.0
		for _, c := range s.object(path + "/classes")["classes"].([]any) {
			class := c.(map[string]any)
			all += class["tasks"].(float64)
			if class["done"] != 1.0 || class["work"] != 0.5 || len(class["allow"].([]any)) != 8 || m.Classes[int(class["index"].(float64))].Weight != int(class["weight"].(float64)) {
				t.Errorf("a class is %v", class)
			}
		}
		if all != float64(m.Tasks) {
			t.Errorf("the classes have %v of %d tasks", all, m.Tasks)
		}
		if rates := s.object(path + "/history")["columns"].(map[string]any)["rate"].([]any); len(rates) != 1 || rates[0] != 5.0 {
			t.Errorf("the rates are %v", rates)
		}

		watched := serve(t, Config{Source: Watch})
		p := snapshot(4)
		p.Workers = 9
		watched.Update(p)
		watched.SetManifest(m, make([]float64, len(m.Classes)), nil)
		got = watched.object(path)
		for _, field := range []string{"redundancy", "spot_check", "checks", "open_disputes", "quarantined", "prefix", "status", "worker_list"} {
			if value, there := got[field]; there {
				t.Errorf("watch: %s is %v", field, value)
			}
		}
		workers = watched.object(path + "/workers")
		if worker := workers["workers"].([]any)[0].(map[string]any); workers["left_out"] != 8.0 || worker["key"] != nil || worker["tasks"] != nil {
			t.Errorf("watch: the workers are %v", workers)
		}
		if class := watched.object(path + "/classes")["classes"].([]any)[0].(map[string]any); class["done"] != nil || class["work"] != 0.0 {
			t.Errorf("watch: a class is %v", class)
		}
	})
}

// Every request gets one of the documented answers, with the headers that keep a page from
// loading anything else, and the page still answers.
func TestGarbage(t *testing.T) {
	page := New(Config{Source: Coordinator})
	page.Update(snapshot(1))
	paths := []string{
		"/", "/index.html", "/web/index.html", "/..%2f..%2fetc/passwd", "/api", "/api/", "/api/v2/run", "/api/v1/run/",
		"/api/v1/run/nothing", "/api/v1/run/workers/1", "/api/v1/run/%00", "/api/v1/run/" + strings.Repeat("x", 5000),
		"/api/v1/run/%3Cscript%3E", "/api/v1/run/a%2Fb/workers", "/vendor/", "/favicon.ico", "/login",
	}
	for _, path := range paths {
		for _, method := range []string{"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "CONNECT", "TRACE", "G\tT"} {
			asked := request(path)
			asked.Method, asked.Body = method, io.NopCloser(strings.NewReader("garbage"))
			w := httptest.NewRecorder()
			page.ServeHTTP(w, asked)
			h := w.Header()
			switch w.Code {
			case 200, 301, 303, 307, 404, 405, 503:
			default:
				t.Errorf("%s %s: %d", method, path, w.Code)
			}
			policy := h.Get("Content-Security-Policy")
			if path == "/" || path == "/index.html" { // these have a script between their tags, which its hash admits
				policy = regexp.MustCompile(`^(default-src 'none'; script-src 'self') 'sha256-[A-Za-z0-9+/]{43}='`).ReplaceAllString(policy, "$1")
			}
			if !strings.HasPrefix(policy, "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'; form-action ") ||
				strings.Contains(policy, "unsafe") || h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Referrer-Policy") != "no-referrer" {
				t.Errorf("%s %s: headers %v", method, path, h)
			}
			isAPI := strings.HasPrefix(path, "/api/")
			if isAPI && h.Get("Cache-Control") != "no-store" {
				t.Errorf("%s %s: it may be stored: %v", method, path, h)
			}
			if isAPI && w.Code >= 400 {
				var refusal struct{ Error string }
				if err := json.Unmarshal(w.Body.Bytes(), &refusal); err != nil || refusal.Error == "" {
					t.Errorf("%s %s: the error is %q", method, path, w.Body)
				}
			}
			if method != "GET" && method != "HEAD" && w.Code == http.StatusOK {
				t.Errorf("%s %s is answered", method, path)
			}
		}
	}
	w := httptest.NewRecorder()
	page.ServeHTTP(w, request(apiRoot))
	if w.Code != http.StatusOK {
		t.Errorf("afterwards: %d", w.Code)
	}
}

// Large answers are compressed for clients that take gzip, and say the same.
func TestCompression(t *testing.T) {
	page := New(Config{Source: Coordinator})
	m := plan(t)
	detail := detailOf(m, 5000)
	page.SetDetail(func(context.Context) (*run.Detail, error) { return detail, nil })
	page.Update(snapshot(1))
	ask := func(path, accept string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		page.ServeHTTP(w, request(path, "Accept-Encoding", accept))
		return w
	}
	path := apiRoot + "/workers"
	plain := ask(path, "").Body.Bytes()
	for _, accept := range []string{"gzip", "deflate, gzip;q=0.5", "br, GZIP, gzip"} {
		w := ask(path, accept)
		z, err := gzip.NewReader(w.Body)
		if err != nil || w.Header().Get("Content-Encoding") != "gzip" || w.Header().Get("Vary") != "Accept-Encoding" {
			t.Fatalf("%s: %v (error %v)", accept, w.Header(), err)
		}
		size := w.Body.Len()
		if got, err := io.ReadAll(z); err != nil || !bytes.Equal(got, plain) || size > len(plain)/5 {
			t.Errorf("%s: %d bytes are compressed to %d (error %v)", accept, len(got), size, err)
		}
	}
	for _, accept := range []string{"", "identity", "gzip;q=0", "gzip; q=0.0"} {
		if w := ask(path, accept); w.Header().Get("Content-Encoding") != "" || !bytes.Equal(w.Body.Bytes(), plain) {
			t.Errorf("%s: %v", accept, w.Header())
		}
	}
	if w := ask(apiRoot+"/history", "gzip"); w.Header().Get("Content-Encoding") != "" {
		t.Errorf("a short answer is compressed: %v", w.Header())
	}
}

// The page's files have their types, and are sent again only after a change.
func TestAssets(t *testing.T) {
	page := New(Config{Source: Coordinator})
	for path, kind := range map[string]string{"/": "text/html; charset=utf-8", "/index.html": "text/html; charset=utf-8"} {
		w := httptest.NewRecorder()
		page.ServeHTTP(w, request(path))
		version := w.Header().Get("ETag")
		if w.Code != http.StatusOK || w.Header().Get("Content-Type") != kind || version == "" {
			t.Errorf("%s: %d %v", path, w.Code, w.Header())
		}
		w = httptest.NewRecorder()
		page.ServeHTTP(w, request(path, "If-None-Match", version))
		if w.Code != http.StatusNotModified || w.Body.Len() > 0 {
			t.Errorf("%s again: %d with %d bytes", path, w.Code, w.Body.Len())
		}
	}
}

// The workers of the last moments stay when the last snapshot names none.
func TestWorkersStayAfterTheEnd(t *testing.T) {
	p := New(Config{Source: Watch})
	p.Update(snapshot(1))
	rows := len(p.recent)
	p.Update(complete())
	if len(p.recent) != rows {
		t.Error("the rate of the end, which is the mean, is on the chart")
	}
	if known := p.now(); len(known.latest.WorkerList) != 1 || newWorkers(&known).(*workersJSON).LeftOut != 0 {
		t.Errorf("the workers are %+v", known.latest.WorkerList)
	}
}

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
