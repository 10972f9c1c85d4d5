//go:build unix

package main_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"nqueens/pkg/cli/clitest"
)

// A coordinator that is killed at the very end, while its webhook hangs, has lost no notification: the next runs
// delivers it. No log and no file of the run has the address.
func TestNotificationAfterAKill(t *testing.T) {
	t.Parallel()
	const secret = "s3cret-of-the-webhook"
	var hangs atomic.Bool
	hangs.Store(true)
	asked, events := make(chan struct{}, 9), make(chan string, 9)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body) // or the server does not notice that the process was killed
		if hangs.Load() {
			asked <- struct{}{}
			<-r.Context().Done()
			return
		}
		events <- string(text)
	}))
	defer server.Close()
	data := t.TempDir()
	targets := filepath.Join(t.TempDir(), "targets")
	if err := os.WriteFile(targets, []byte(server.URL+"/"+secret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	count := clitest.Start(t, nil, "coordinator", "count", "8", "--data", data, "--notify-file", targets)
	<-asked
	count.Kill()
	hangs.Store(false)
	if total := strings.TrimSpace(count.Stdout()); total != "92" {
		t.Errorf("it has printed %q before it waits for the webhook", total)
	}
	kept, err := filepath.Glob(filepath.Join(data, "*", "notify.json"))
	if err != nil || len(kept) != 1 {
		t.Fatalf("kept is %q, error %v", kept, err)
	}
	if text, err := os.ReadFile(kept[0]); err != nil || strings.Contains(string(text), secret) {
		t.Errorf("the file is %s, error %v", text, err)
	}
	runs := clitest.Run(t, nil, "coordinator", "runs", "--data", data)
	var event struct{ Event, Total, Confirmed, Text string }
	if err := json.Unmarshal([]byte(<-events), &event); err != nil || event.Event != "complete" || event.Total != "92" || event.Confirmed != "published" {
		t.Errorf("the event is %+v, error %v", event, err)
	}
	if runs.Code != 0 || strings.Contains(runs.Stderr+count.Log(), secret) {
		t.Errorf("runs: exit %d; the logs are %s%s", runs.Code, count.Log(), runs.Stderr)
	}
	if _, err := os.Stat(kept[0]); !os.IsNotExist(err) {
		t.Errorf("the notification is still kept: %v", err)
	}
	clitest.Run(t, nil, "coordinator", "runs", "--data", data)
	if len(events) > 0 {
		t.Errorf("it is delivered again: %s", <-events)
	}
}
