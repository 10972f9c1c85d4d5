package bus_test

import "testing"

// The usage of the streams is what the server holds of all runs.
func TestUsage(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	before, results, err := s.bus.Usage(t.Context())
	if err != nil || before.Messages != 0 || before.Limit == 0 || results.Limit == 0 {
		t.Fatalf("empty streams: tasks %+v, results %+v, error %v", before, results, err)
	}
	publish(t, s.bus, chunk("n8-a", 1))
	tasks, after, err := s.bus.Usage(t.Context())
	if err != nil || tasks.Messages != 1 || tasks.Bytes <= before.Bytes || tasks.Limit != before.Limit || after != results {
		t.Errorf("with a chunk: tasks %+v, results %+v, error %v", tasks, after, err)
	}
	if err := s.js.DeleteStream(t.Context(), "NQ_RESULTS"); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.bus.Usage(t.Context()); err == nil {
		t.Error("a missing stream is no error")
	}
}
