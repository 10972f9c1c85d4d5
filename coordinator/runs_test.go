//go:build unix

package main_test

import (
	"os"
	"strings"
	"testing"
)

// The list of runs has the server of an active run that workers can join, and its process; with
// --json also the folder of the ledger.
func TestRunsListTheServerOfAnActiveRun(t *testing.T) {
	t.Parallel()
	coordinator, url := startCluster(t, "12", "--depth", "2")
	run := coordinator.Await(counting)
	runs := func(args ...string) string {
		t.Helper()
		return start(t, "coordinator", append([]string{"runs", "--data", coordinator.Flag("--data")}, args...)...).ExpectExit(0)
	}
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	if list, where := runs(), "\n  "+url+", "+host+", process "; !strings.Contains(list, where) {
		t.Errorf("runs prints %q, want %q in it", list, where)
	}
	folder := coordinator.Flag("--data") + "/" + run
	if list := runs("--json"); !strings.Contains(list, `"ledger":"`+folder+`","server":"`+url+`"`) {
		t.Errorf("runs prints %s, want the folder %s and the server %s", list, folder, url)
	}
}
