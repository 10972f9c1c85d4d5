package bus_test

import (
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Ensure rejects a consumer that would keep chunks from workers, or lease them too briefly.
func TestEnsureRejectsConsumersThatStarveWorkers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*jetstream.ConsumerConfig)
		say    string
	}{
		"max deliver": {func(c *jetstream.ConsumerConfig) { c.MaxDeliver = 5 }, "limit of deliveries is 5"},
		"another run": {func(c *jetstream.ConsumerConfig) { c.FilterSubject = "nq.task.n8-c" }, "nq.task.n8-c"},
		"two runs": {func(c *jetstream.ConsumerConfig) {
			c.FilterSubject, c.FilterSubjects = "", []string{"nq.task.n8-a", "nq.task.n8-c"}
		}, "nq.task.n8-c"},
		"short leases": {func(c *jetstream.ConsumerConfig) { c.AckWait = time.Second }, "ack wait is 1s"},
	} {
		s := newScene(t)
		cfg := s.consumer(t, "n8-a").Config
		c.change(&cfg)
		if _, err := s.js.UpdateConsumer(t.Context(), tasks, cfg); err != nil {
			t.Fatal(err)
		}
		says(t, name, s.bus.Ensure(t.Context(), "n8-a"), "n8-a", tasks, c.say, "delete the consumer")
	}
}

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

// Ensure relies on the server for the ack policy: on a work queue the server allows only
// consumers with explicit acks.
func TestServerRequiresExplicitAcks(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	for _, policy := range []jetstream.AckPolicy{jetstream.AckAllPolicy, jetstream.AckNonePolicy} {
		cfg := jetstream.ConsumerConfig{Durable: "n8-c", FilterSubject: "nq.task.n8-c", AckPolicy: policy}
		_, err := s.js.CreateConsumer(t.Context(), tasks, cfg)
		says(t, policy.String(), err, "requires explicit ack")
	}
}
