package bus_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"nqueens/pkg/bus"
	"nqueens/pkg/bus/bustest"
)

func TestEnsureCreatesTheDocumentedConfiguration(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	have := s.stream(t, tasks).Config
	check(t, "tasks: subjects", have.Subjects, []string{"nq.task.*"})
	check(t, "tasks: retention", have.Retention, jetstream.WorkQueuePolicy)
	check(t, "tasks: storage", have.Storage, jetstream.FileStorage)
	check(t, "tasks: discard", have.Discard, jetstream.DiscardNew)
	check(t, "tasks: discard per subject", have.DiscardNewPerSubject, true)
	check(t, "tasks: max messages a subject", have.MaxMsgsPerSubject, 1<<20)
	check(t, "tasks: max age", have.MaxAge, 0)
	check(t, "tasks: max messages", have.MaxMsgs, -1)
	check(t, "tasks: deduplication window", have.Duplicates, time.Minute)

	have = s.stream(t, results).Config
	check(t, "results: subjects", have.Subjects, []string{"nq.result.*"})
	check(t, "results: retention", have.Retention, jetstream.LimitsPolicy)
	check(t, "results: storage", have.Storage, jetstream.FileStorage)
	check(t, "results: discard", have.Discard, jetstream.DiscardNew)
	check(t, "results: bounded by bytes", have.MaxBytes > 0, true)
	check(t, "results: max age", have.MaxAge, 0)
	check(t, "results: max messages", have.MaxMsgs, -1)
	check(t, "results: max messages a subject", have.MaxMsgsPerSubject, -1)
	check(t, "results: deduplication window", have.Duplicates, time.Minute)
	check(t, "results: deny delete", have.DenyDelete, false)
	check(t, "results: deny purge", have.DenyPurge, false)

	for _, run := range []string{"n8-a", "n8-b"} {
		consumer := s.consumer(t, run).Config
		check(t, "consumer: durable", consumer.Durable, run)
		check(t, "consumer: pulled", consumer.DeliverSubject, "")
		check(t, "consumer: delivers", consumer.DeliverPolicy, jetstream.DeliverAllPolicy)
		check(t, "consumer: of one run", consumer.FilterSubject, "nq.task."+run)
		check(t, "consumer: of other subjects", len(consumer.FilterSubjects), 0)
		check(t, "consumer: ack policy", consumer.AckPolicy, jetstream.AckExplicitPolicy)
		check(t, "consumer: ack wait", consumer.AckWait, 10*time.Second)
		check(t, "consumer: max deliver", consumer.MaxDeliver, -1)
		check(t, "consumer: max ack pending", consumer.MaxAckPending, -1)
		check(t, "consumer: max waiting", consumer.MaxWaiting, 65536)
		check(t, "consumer: inactive threshold", consumer.InactiveThreshold, 10*time.Minute)
	}
}

func check[T any](t *testing.T, what string, have, want T) {
	t.Helper()
	if !reflect.DeepEqual(have, want) {
		t.Errorf("%s is %v, want %v", what, have, want)
	}
}

// Several coordinators may start at the same time on an empty server.
func TestEnsureConcurrently(t *testing.T) {
	t.Parallel()
	for range 5 {
		s := &scene{server: bustest.Server(t)}
		_, s.js = bustest.Admin(t, s.server)
		var buses []*bus.Bus
		for range 6 {
			buses = append(buses, bustest.Connect(t, s.server))
		}
		start, ended := make(chan struct{}), make(chan error, len(buses))
		for _, b := range buses {
			go func() {
				<-start
				ended <- b.Ensure(t.Context(), "n8-a")
			}()
		}
		close(start)
		for range buses {
			if err := receive(t, ended, "Ensure returns"); err != nil {
				t.Error(err)
			}
		}
		s.stream(t, tasks)
		s.stream(t, results)
		s.consumer(t, "n8-a")
	}
}

// Ensure keeps what is there, with the limits that an operator has changed, unless it would lose work: then it says
// which setting is wrong.
func TestEnsureKeepsAnOperatorsLimits(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	raised := s.stream(t, tasks).Config
	raised.MaxMsgsPerSubject, raised.MaxBytes, raised.Description = 1<<21, 1<<20, "raised"
	update(t, s, raised)
	raised = s.stream(t, results).Config
	raised.MaxBytes, raised.Duplicates = 257<<20, 2*time.Minute
	update(t, s, raised)
	consumer := s.consumer(t, "n8-a").Config
	consumer.AckWait, consumer.MaxAckPending = time.Minute, 1<<20
	if _, err := s.js.UpdateConsumer(t.Context(), tasks, consumer); err != nil {
		t.Fatal(err)
	}
	before := []any{s.stream(t, tasks).Config, s.stream(t, results).Config, s.stream(t, results).Created, s.consumer(t, "n8-a").Config}
	ensure(t, s.other)
	after := []any{s.stream(t, tasks).Config, s.stream(t, results).Config, s.stream(t, results).Created, s.consumer(t, "n8-a").Config}
	if !reflect.DeepEqual(before, after) {
		t.Errorf("before:\n%+v\nafter:\n%+v", before, after)
	}
	raised.MaxAge = time.Hour
	update(t, s, raised)
	says(t, "Ensure", s.other.Ensure(t.Context(), "n8-a"), results, "maximum age", "1h")
	check(t, "the maximum age", s.stream(t, results).Config.MaxAge, time.Hour)
}

func update(t *testing.T, s *scene, cfg jetstream.StreamConfig) {
	t.Helper()
	if _, err := s.js.UpdateStream(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
}

func TestEnsureRefusesInvalidNames(t *testing.T) {
	t.Parallel()
	b := bustest.Connect(t, bustest.Server(t))
	for _, name := range []string{"", "*", "n8.a", "N8"} {
		if err := b.Ensure(t.Context(), name); err == nil {
			t.Errorf("a run named %q is no error", name)
		}
	}
}

// says checks that there is an error and that it contains all the words.
func says(t *testing.T, name string, err error, named ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("%s: no error", name)
		return
	}
	for _, word := range named {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%s: error %q does not say %q", name, err, word)
		}
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
