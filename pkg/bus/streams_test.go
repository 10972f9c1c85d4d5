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

func TestEnsureIsIdempotent(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	publish(t, s.bus, chunk("n8-a", 1))
	publishResult(t, s.bus, result("n8-a", 1))
	before := []any{s.stream(t, tasks).Config, s.stream(t, tasks).Created, s.stream(t, tasks).State,
		s.stream(t, results).Config, s.stream(t, results).Created, s.stream(t, results).State,
		s.consumer(t, "n8-a").Config, s.consumer(t, "n8-a").Created}
	ensure(t, s.bus)
	ensure(t, s.other)
	after := []any{s.stream(t, tasks).Config, s.stream(t, tasks).Created, s.stream(t, tasks).State,
		s.stream(t, results).Config, s.stream(t, results).Created, s.stream(t, results).State,
		s.consumer(t, "n8-a").Config, s.consumer(t, "n8-a").Created}
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

// Ensure keeps the limits that an operator has changed.
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
	before := []any{s.stream(t, tasks).Config, s.stream(t, results).Config, s.consumer(t, "n8-a").Config}
	ensure(t, s.other)
	after := []any{s.stream(t, tasks).Config, s.stream(t, results).Config, s.consumer(t, "n8-a").Config}
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
		"tasks that age":         {taskConfig, func(c *jetstream.StreamConfig) { c.MaxAge = time.Hour }, []string{tasks, "maximum age", "1h"}},
		"small tasks only":       {taskConfig, func(c *jetstream.StreamConfig) { c.MaxMsgSize = 1000 }, []string{tasks, "maximum message size", "1000"}},
		"small results only":     {resultConfig, func(c *jetstream.StreamConfig) { c.MaxMsgSize = 1000 }, []string{results, "maximum message size", "1000"}},
		"subjects changed": {taskConfig, func(c *jetstream.StreamConfig) {
			c.SubjectTransform = &jetstream.SubjectTransformConfig{Source: "nq.task.>", Destination: "other.>"}
		}, []string{tasks, "subject transform", "other.>"}},
		"results of another stream": {resultConfig, func(c *jetstream.StreamConfig) {
			c.Sources = []*jetstream.StreamSource{{Name: "OTHER"}}
		}, []string{results, "sources"}},
		"old tasks dropped": {taskConfig, func(c *jetstream.StreamConfig) {
			c.Discard, c.DiscardNewPerSubject = jetstream.DiscardOld, false
		}, []string{tasks, "discard", "DiscardOld", "DiscardNew"}},
		"oldest tasks dropped": {taskConfig, func(c *jetstream.StreamConfig) {
			c.MaxMsgsPerSubject, c.DiscardNewPerSubject = 2, false
		}, []string{tasks, "discard new per subject"}},
		"oldest results dropped": {resultConfig, func(c *jetstream.StreamConfig) { c.MaxMsgsPerSubject = 2 }, []string{results, "discard new per subject"}},
		"other tasks":            {taskConfig, func(c *jetstream.StreamConfig) { c.Subjects = []string{"nq.task.n8-a"} }, []string{tasks, "subjects", "nq.task.n8-a", "nq.task.*"}},
		"other results":          {resultConfig, func(c *jetstream.StreamConfig) { c.Subjects = []string{"results.>"} }, []string{results, "subjects", "results.>", "nq.result.*"}},
		"results taken once":     {resultConfig, func(c *jetstream.StreamConfig) { c.Retention = jetstream.WorkQueuePolicy }, []string{results, "retention", "WorkQueue", "Limits"}},
		"results that age":       {resultConfig, func(c *jetstream.StreamConfig) { c.MaxAge = time.Hour }, []string{results, "maximum age", "1h"}},
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
		says(t, name, s.bus.Ensure(t.Context(), "n8-a"), c.say...)
		if after := s.stream(t, c.stream.Name).Config; !reflect.DeepEqual(before, after) {
			t.Errorf("%s: the stream is changed from %+v to %+v", name, before, after)
		}
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

func TestDeletingARunLeavesOtherRuns(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	others := []string{"n8-a", "n8-a-b", "n8-ab", "n8", "n9-a"}
	for id := range uint64(3) {
		for _, run := range others {
			publish(t, s.bus, chunk(run, 1+id))
			publishResult(t, s.bus, result(run, 1+id))
		}
	}
	const run = "n8-a"
	take(t, queue(t, s.bus)) // a held chunk is removed too
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
