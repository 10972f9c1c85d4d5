package bus_test

import (
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Ensure rejects a paused consumer, until it is resumed.
func TestEnsureRejectsPausedConsumers(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	if _, err := s.js.PauseConsumer(t.Context(), tasks, "n8-a", time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	says(t, "Ensure", s.bus.Ensure(t.Context(), "n8-a"), "n8-a", tasks, "paused until", "resume")
	if _, err := s.js.ResumeConsumer(t.Context(), tasks, "n8-a"); err != nil {
		t.Fatal(err)
	}
	ensure(t, s.bus)
}

// Another consumer of a run's chunks is an operator's: it is named as the reason, and stays.
func TestEnsureRefusesAnotherConsumerOfTheRun(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	other := jetstream.ConsumerConfig{Durable: "mine", AckPolicy: jetstream.AckExplicitPolicy, FilterSubject: "nq.task.n8-c"}
	if _, err := s.js.CreateConsumer(t.Context(), tasks, other); err != nil {
		t.Fatal(err)
	}
	says(t, "Ensure", s.bus.Ensure(t.Context(), "n8-c"), "n8-c", "another consumer", "delete")
	s.consumer(t, "mine")
}
