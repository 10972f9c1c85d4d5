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
		"max deliver": {func(c *jetstream.ConsumerConfig) { c.MaxDeliver = 5 }, "after 5 deliveries"},
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

// oldScene is a server with a stream of tasks as a program of protocol version 1 leaves it,
// and tasks of those runs.
func oldScene(t *testing.T, runs ...string) *scene {
	t.Helper()
	s := newScene(t)
	for _, run := range []string{"n8-a", "n8-b"} {
		if err := s.js.DeleteConsumer(t.Context(), tasks, run); err != nil {
			t.Fatal(err)
		}
	}
	old := jetstream.ConsumerConfig{Durable: "workers", AckPolicy: jetstream.AckExplicitPolicy, MaxDeliver: -1}
	if _, err := s.js.CreateConsumer(t.Context(), tasks, old); err != nil {
		t.Fatal(err)
	}
	for _, run := range runs {
		s.raw(t, "nq.task."+run, []byte("\x08\x01"))
	}
	return s
}

// The consumer that older programs shared is removed if no task of another run waits for it.
func TestEnsureRemovesTheOldConsumer(t *testing.T) {
	t.Parallel()
	for name, runs := range map[string][]string{"no tasks": nil, "tasks of the same run": {"n8-a", "n8-a"}} {
		s := oldScene(t, runs...)
		if err := s.bus.Ensure(t.Context(), "n8-a"); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		s.noConsumer(t, "workers")
		s.consumer(t, "n8-a")
		check(t, name+": messages", s.stream(t, tasks).State.Msgs, uint64(len(runs)))
		if err := s.other.Ensure(t.Context(), "n8-b"); err != nil {
			t.Errorf("%s: another run: %v", name, err)
		}
	}
}

// While tasks of other runs wait for the old consumer, it stays, and the error says why.
func TestEnsureRefusesServersWithOlderRuns(t *testing.T) {
	t.Parallel()
	s := oldScene(t, "n8-a", "n8-old")
	says(t, "Ensure", s.bus.Ensure(t.Context(), "n8-a"), "n8-a", "older version", "another server")
	s.consumer(t, "workers")
	check(t, "messages", s.stream(t, tasks).State.Msgs, 2)
	if err := s.bus.Tasks().Purge(t.Context(), "n8-old"); err != nil { // that run has ended
		t.Fatal(err)
	}
	ensure(t, s.bus)
}

// A run may have the name of the old consumer.
func TestARunMayBeNamedLikeTheOldConsumer(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	for _, run := range []string{"workers", "n8-c"} {
		if err := s.bus.Ensure(t.Context(), run); err != nil {
			t.Fatal(err)
		}
	}
	publish(t, s.bus, chunk("workers", 7))
	check(t, "the chunk that comes", take(t, queue(t, s.other), "workers").Chunk.ID, 7)
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
