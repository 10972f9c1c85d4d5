package bus

import (
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// A stream that would lose or repeat work is refused, and the error names the wrong setting.
func TestStreamsThatLoseWorkAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		want   jetstream.StreamConfig
		change func(*jetstream.StreamConfig)
		says   string
	}{
		"tasks kept for ever":    {tasksConfig(), func(c *jetstream.StreamConfig) { c.Retention = jetstream.LimitsPolicy }, "retention is Limits, not WorkQueue"},
		"tasks kept by interest": {tasksConfig(), func(c *jetstream.StreamConfig) { c.Retention = jetstream.InterestPolicy }, "retention is Interest, not WorkQueue"},
		"tasks that age":         {tasksConfig(), func(c *jetstream.StreamConfig) { c.MaxAge = time.Hour }, "maximum age is 1h0m0s"},
		"small tasks only":       {tasksConfig(), func(c *jetstream.StreamConfig) { c.MaxMsgSize = 1000 }, "maximum message size is 1000"},
		"small results only":     {resultsConfig(), func(c *jetstream.StreamConfig) { c.MaxMsgSize = 1000 }, "maximum message size is 1000"},
		"subjects changed":       {tasksConfig(), func(c *jetstream.StreamConfig) { c.SubjectTransform = new(jetstream.SubjectTransformConfig) }, "subject transform is"},
		"a mirror":               {resultsConfig(), func(c *jetstream.StreamConfig) { c.Mirror = new(jetstream.StreamSource) }, "mirror is"},
		"results of another":     {resultsConfig(), func(c *jetstream.StreamConfig) { c.Sources = []*jetstream.StreamSource{{Name: "OTHER"}} }, "number of sources is 1"},
		"old tasks dropped":      {tasksConfig(), func(c *jetstream.StreamConfig) { c.Discard = jetstream.DiscardOld }, "discard policy is DiscardOld, not DiscardNew"},
		"oldest tasks dropped":   {tasksConfig(), func(c *jetstream.StreamConfig) { c.DiscardNewPerSubject = false }, "discard new per subject is false"},
		"oldest results dropped": {resultsConfig(), func(c *jetstream.StreamConfig) { c.MaxMsgsPerSubject = 2 }, "discard new per subject is false"},
		"other tasks":            {tasksConfig(), func(c *jetstream.StreamConfig) { c.Subjects = []string{"nq.task.n8-a"} }, "subjects is [nq.task.n8-a], not [nq.task.*]"},
		"other results":          {resultsConfig(), func(c *jetstream.StreamConfig) { c.Subjects = []string{"results.>"} }, "subjects is [results.>], not [nq.result.*]"},
		"results taken once":     {resultsConfig(), func(c *jetstream.StreamConfig) { c.Retention = jetstream.WorkQueuePolicy }, "retention is WorkQueue, not Limits"},
		"results that age":       {resultsConfig(), func(c *jetstream.StreamConfig) { c.MaxAge = time.Hour }, "maximum age is 1h0m0s"},
		"old results dropped":    {resultsConfig(), func(c *jetstream.StreamConfig) { c.Discard = jetstream.DiscardOld }, "discard policy is DiscardOld, not DiscardNew"},
	} {
		have := c.want
		if err := checkStream(&have, &c.want); err != nil {
			t.Errorf("as it is made: %v", err)
		}
		c.change(&have)
		checkRejected(t, name, c.says, checkStream(&have, &c.want))
	}
}

// A consumer that would keep chunks from workers, or lease them too briefly, is refused.
func TestConsumersThatStarveWorkersAreRefused(t *testing.T) {
	want := jetstream.ConsumerConfig{
		AckPolicy: jetstream.AckExplicitPolicy, MaxDeliver: -1, FilterSubject: "nq.task.n8-a", AckWait: 10 * time.Second,
	}
	for name, c := range map[string]struct {
		change func(*jetstream.ConsumerConfig)
		says   string
	}{
		"max deliver": {func(c *jetstream.ConsumerConfig) { c.MaxDeliver = 5 }, "limit of deliveries is 5"},
		"another run": {func(c *jetstream.ConsumerConfig) { c.FilterSubject = "nq.task.n8-c" }, "filter is [nq.task.n8-c]"},
		"two runs": {func(c *jetstream.ConsumerConfig) {
			c.FilterSubject, c.FilterSubjects = "", []string{"nq.task.n8-a", "nq.task.n8-c"}
		}, "filter is [nq.task.n8-a nq.task.n8-c]"},
		"short leases": {func(c *jetstream.ConsumerConfig) { c.AckWait = time.Second }, "ack wait is 1s"},
		"no acks":      {func(c *jetstream.ConsumerConfig) { c.AckPolicy = jetstream.AckNonePolicy }, "ack policy is AckNone"},
	} {
		have := want
		if err := checkConsumer(&have, &want); err != nil {
			t.Errorf("as it is made: %v", err)
		}
		c.change(&have)
		checkRejected(t, name, c.says, checkConsumer(&have, &want))
	}
}
