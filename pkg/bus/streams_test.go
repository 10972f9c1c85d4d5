package bus_test

import (
	"reflect"
	"slices"
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
	check(t, "tasks: bounded by subject", have.MaxMsgsPerSubject > 0, true)
	check(t, "tasks: max age", have.MaxAge, 0)
	check(t, "tasks: max messages", have.MaxMsgs, -1)
	check(t, "tasks: deduplication window", have.Duplicates, 10*time.Second)

	have = s.stream(t, results).Config
	check(t, "results: subjects", have.Subjects, []string{"nq.result.*"})
	check(t, "results: retention", have.Retention, jetstream.LimitsPolicy)
	check(t, "results: storage", have.Storage, jetstream.FileStorage)
	check(t, "results: discard", have.Discard, jetstream.DiscardNew)
	check(t, "results: bounded by bytes", have.MaxBytes > 0, true)
	check(t, "results: max age", have.MaxAge, 0)
	check(t, "results: max messages", have.MaxMsgs, -1)
	check(t, "results: max messages a subject", have.MaxMsgsPerSubject, -1)
	check(t, "results: deduplication window", have.Duplicates, 10*time.Second)
	check(t, "results: deny delete", have.DenyDelete, false)
	check(t, "results: deny purge", have.DenyPurge, false)

	consumer := s.consumer(t).Config
	check(t, "consumer: durable", consumer.Durable, workers)
	check(t, "consumer: pulled", consumer.DeliverSubject, "")
	check(t, "consumer: delivers", consumer.DeliverPolicy, jetstream.DeliverAllPolicy)
	check(t, "consumer: of all runs", consumer.FilterSubject+strings.Join(consumer.FilterSubjects, ""), "")
	check(t, "consumer: ack policy", consumer.AckPolicy, jetstream.AckExplicitPolicy)
	check(t, "consumer: ack wait", consumer.AckWait, 10*time.Second)
	check(t, "consumer: max deliver", consumer.MaxDeliver, -1)
	check(t, "consumer: max ack pending", consumer.MaxAckPending, -1)
	check(t, "consumer: max waiting", consumer.MaxWaiting, 65536)
	check(t, "consumer: inactive threshold", consumer.InactiveThreshold, 0)
}

func check[T any](t *testing.T, what string, have, want T) {
	t.Helper()
	if !reflect.DeepEqual(have, want) {
		t.Errorf("%s is %v, want %v", what, have, want)
	}
}

func TestEnsureIsIdempotent(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	publishTask(t, s.bus, task("n8-a", 0))
	publishResult(t, s.bus, result("n8-a", 0))
	before := []any{s.stream(t, tasks).Config, s.stream(t, tasks).Created, s.stream(t, tasks).State,
		s.stream(t, results).Config, s.stream(t, results).Created, s.stream(t, results).State,
		s.consumer(t).Config, s.consumer(t).Created}
	ensure(t, s.bus)
	ensure(t, s.other)
	after := []any{s.stream(t, tasks).Config, s.stream(t, tasks).Created, s.stream(t, tasks).State,
		s.stream(t, results).Config, s.stream(t, results).Created, s.stream(t, results).State,
		s.consumer(t).Config, s.consumer(t).Created}
	if !reflect.DeepEqual(before, after) {
		t.Errorf("before:\n%+v\nafter:\n%+v", before, after)
	}
}

// Several coordinators may start at the same time on an empty server.
func TestEnsureConcurrently(t *testing.T) {
	t.Parallel()
	for range 10 {
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
				ended <- b.Ensure(t.Context())
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
		s.consumer(t)
	}
}

// Ensure keeps the limits that an operator has changed.
func TestEnsureKeepsAnOperatorsLimits(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	raised := s.stream(t, tasks).Config
	raised.MaxMsgsPerSubject, raised.MaxBytes, raised.Description = 1<<20, 1<<20, "raised"
	update(t, s, raised)
	raised = s.stream(t, results).Config
	raised.MaxBytes, raised.Duplicates = 257<<20, time.Minute
	update(t, s, raised)
	consumer := s.consumer(t).Config
	consumer.AckWait, consumer.MaxAckPending = time.Minute, 1<<20
	if _, err := s.js.UpdateConsumer(t.Context(), tasks, consumer); err != nil {
		t.Fatal(err)
	}
	before := []any{s.stream(t, tasks).Config, s.stream(t, results).Config, s.consumer(t).Config}
	ensure(t, s.other)
	after := []any{s.stream(t, tasks).Config, s.stream(t, results).Config, s.consumer(t).Config}
	if !reflect.DeepEqual(before, after) {
		t.Errorf("before:\n%+v\nafter:\n%+v", before, after)
	}
}

func update(t *testing.T, s *scene, cfg jetstream.StreamConfig) {
	t.Helper()
	if _, err := s.js.UpdateStream(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
}

// Ensure rejects existing streams that would lose or repeat work, names the wrong setting,
// and does not change it.
func TestEnsureRejectsStreamsThatLoseWork(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	taskConfig, resultConfig := s.stream(t, tasks).Config, s.stream(t, results).Config
	for name, c := range map[string]struct {
		stream jetstream.StreamConfig
		change func(*jetstream.StreamConfig)
		say    []string
	}{
		"tasks kept for ever":    {taskConfig, func(c *jetstream.StreamConfig) { c.Retention = jetstream.LimitsPolicy }, []string{tasks, "retention", "Limits", "WorkQueue"}},
		"tasks kept by interest": {taskConfig, func(c *jetstream.StreamConfig) { c.Retention = jetstream.InterestPolicy }, []string{tasks, "retention", "Interest", "WorkQueue"}},
		"tasks that age":         {taskConfig, func(c *jetstream.StreamConfig) { c.MaxAge = time.Hour }, []string{tasks, "older than 1h"}},
		"old tasks dropped": {taskConfig, func(c *jetstream.StreamConfig) {
			c.Discard, c.DiscardNewPerSubject = jetstream.DiscardOld, false
		}, []string{tasks, "discard", "DiscardOld", "DiscardNew"}},
		"oldest tasks dropped": {taskConfig, func(c *jetstream.StreamConfig) {
			c.MaxMsgsPerSubject, c.DiscardNewPerSubject = 2, false
		}, []string{tasks, "oldest", "2"}},
		"oldest results dropped": {resultConfig, func(c *jetstream.StreamConfig) { c.MaxMsgsPerSubject = 2 }, []string{results, "oldest", "2"}},
		"other tasks":            {taskConfig, func(c *jetstream.StreamConfig) { c.Subjects = []string{"nq.task.n8-a"} }, []string{tasks, "subjects", "nq.task.n8-a", "nq.task.*"}},
		"other results":          {resultConfig, func(c *jetstream.StreamConfig) { c.Subjects = []string{"results.>"} }, []string{results, "subjects", "results.>", "nq.result.*"}},
		"results taken once":     {resultConfig, func(c *jetstream.StreamConfig) { c.Retention = jetstream.WorkQueuePolicy }, []string{results, "retention", "WorkQueue", "Limits"}},
		"results that age":       {resultConfig, func(c *jetstream.StreamConfig) { c.MaxAge = time.Hour }, []string{results, "older than 1h"}},
		"old results dropped":    {resultConfig, func(c *jetstream.StreamConfig) { c.Discard = jetstream.DiscardOld }, []string{results, "discard", "DiscardOld", "DiscardNew"}},
	} {
		s := &scene{server: bustest.Server(t)}
		_, s.js = bustest.Admin(t, s.server)
		s.bus = bustest.Connect(t, s.server)
		c.change(&c.stream)
		if _, err := s.js.CreateStream(t.Context(), c.stream); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		before := s.stream(t, c.stream.Name).Config
		says(t, name, s.bus.Ensure(t.Context()), c.say...)
		if after := s.stream(t, c.stream.Name).Config; !reflect.DeepEqual(before, after) {
			t.Errorf("%s: the stream is changed from %+v to %+v", name, before, after)
		}
	}
}

// Ensure rejects a consumer that would keep tasks from workers, or lease them too briefly.
func TestEnsureRejectsConsumersThatStarveWorkers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*jetstream.ConsumerConfig)
		say    string
	}{
		"max deliver":           {func(c *jetstream.ConsumerConfig) { c.MaxDeliver = 5 }, "after 5 deliveries"},
		"one run":               {func(c *jetstream.ConsumerConfig) { c.FilterSubject = "nq.task.n8-a" }, "nq.task.n8-a"},
		"two runs":              {func(c *jetstream.ConsumerConfig) { c.FilterSubjects = []string{"nq.task.n8-a", "nq.task.n8-b"} }, "nq.task.n8-b"},
		"short leases":          {func(c *jetstream.ConsumerConfig) { c.AckWait = time.Second }, "ack wait is 1s"},
		"one run, short leases": {func(c *jetstream.ConsumerConfig) { c.FilterSubject, c.AckWait = "nq.task.n8-a", time.Second }, "nq.task.n8-a"},
	} {
		s := newScene(t)
		cfg := s.consumer(t).Config
		c.change(&cfg)
		if _, err := s.js.UpdateConsumer(t.Context(), tasks, cfg); err != nil {
			t.Fatal(err)
		}
		says(t, name, s.bus.Ensure(t.Context()), workers, tasks, c.say)
	}
}

// Ensure relies on the server for the ack policy: on a work queue the server allows only
// consumers with explicit acks.
func TestServerRequiresExplicitAcks(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	if err := s.js.DeleteConsumer(t.Context(), tasks, workers); err != nil {
		t.Fatal(err)
	}
	for _, policy := range []jetstream.AckPolicy{jetstream.AckAllPolicy, jetstream.AckNonePolicy} {
		cfg := jetstream.ConsumerConfig{Durable: workers, AckPolicy: policy}
		_, err := s.js.CreateConsumer(t.Context(), tasks, cfg)
		says(t, policy.String(), err, "requires explicit ack")
	}
}

func TestDeletingARunLeavesOtherRuns(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	others := []string{"n8-a", "n8-a-b", "n8-ab", "n8", "n9-a"}
	for id := range uint64(3) {
		for _, run := range others {
			publishTask(t, s.bus, task(run, id))
			publishResult(t, s.bus, result(run, id))
		}
	}
	held, _ := take(t, queue(t, s.bus)) // a held task is removed too
	run := held.Run
	if err := s.other.Registry().Delete(t.Context(), run); err != nil {
		t.Fatal(err)
	}
	for _, stream := range []struct{ name, subjects string }{{tasks, "nq.task."}, {results, "nq.result."}} {
		check(t, stream.name+" of "+run, s.stored(t, stream.name, stream.subjects+run), 0)
		for _, other := range slices.DeleteFunc(slices.Clone(others), func(o string) bool { return o == run }) {
			check(t, stream.name+" of "+other, s.stored(t, stream.name, stream.subjects+other), 3)
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
