//go:build unix

package main_test

import (
	"os"
	"strings"
	"testing"
)

// Of a run that is at work on this machine, runs says at which server, where that lets
// others in, beside the folder of its ledger.
func TestRunsSayWhereOthersJoin(t *testing.T) {
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
	if list, where := runs(), coordinator.Flag("--data")+"/"+run+", "+url+", "+host+", process "; !strings.Contains(list, where) {
		t.Errorf("runs prints %q, want %q in it", list, where)
	}
	if list := runs("--json"); !strings.Contains(list, `"server":"`+url+`"`) {
		t.Errorf("runs prints %s, want the server %s", list, url)
	}
}
