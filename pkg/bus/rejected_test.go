package bus_test

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	nqueensv1 "nqueens/proto/nqueens/v1"

	"nqueens/pkg/bus"
	"nqueens/pkg/run"
	"nqueens/pkg/testkit"
)

// Each worker that sends heartbeats of another version is logged once, by its name.
func TestWorkersOfAnotherVersionAreLoggedOnce(t *testing.T) {
	t.Parallel()
	var log testkit.Log
	s := newScene(t, logTo(&log))
	heard := listen(t, s.bus)
	heard.expect(t, s.other, run.Heartbeat{Worker: "w", Threads: 1})
	long := strings.Repeat("x", 5000)
	for _, worker := range []string{"old-1", "old-2", "old-1", long, ""} {
		if err := s.conn.Publish("nq.hb.old", marshal(t, &nqueensv1.Heartbeat{Protocol: bus.Protocol + 1, Worker: worker})); err != nil {
			t.Fatal(err)
		}
	}
	testkit.Eventually(t, "the heartbeats are counted", func() bool { return s.bus.Rejected() == 5 })
	for _, worker := range []string{"old-1", "old-2", long[:128]} {
		lines := log.Lines(`"worker":"` + worker + `"`)
		if len(lines) != 1 || !strings.Contains(lines[0], "version 5") || len(lines[0]) > 600 {
			t.Errorf("lines that name worker %.20s are %q, want one with the version", worker, lines)
		}
	}
}

func marshal(t *testing.T, m proto.Message) []byte {
	t.Helper()
	data, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
