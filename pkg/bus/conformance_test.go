package bus_test

import (
	"context"
	"testing"
	"time"

	"nqueens/pkg/bus"
	"nqueens/pkg/bus/bustest"
	"nqueens/pkg/bus/bustest/conformance"
	"nqueens/pkg/run"
)

// A bus over NATS does what coordinators and workers rely on.
func TestConformance(t *testing.T) {
	t.Parallel()
	conformance.Test(t, func(t *testing.T, lease time.Duration) conformance.TestServer {
		return &conforming{forgetful: newForgetful(t), lease: lease}
	}, func(t *testing.T, test func(*testing.T)) {
		t.Parallel()
		test(t)
	})
}

// conforming is a server for the tests of package bustest.
type conforming struct {
	*forgetful
	lease time.Duration
}

func (s *conforming) Connect(t *testing.T) conformance.Bus {
	t.Helper()
	return connection(connectTo(t, s.server, lease(s.lease)))
}

func connection(b *bus.Bus) conformance.Bus {
	return conformance.Bus{
		Ensure: b.Ensure, Tasks: b.Tasks(), Queue: func() conformance.Queue { return b.Queue() }, Results: b.Results(),
		Claim:  func(ctx context.Context, r run.Record) (conformance.Claim, error) { return b.Registry().Claim(ctx, r) },
		Record: b.Registry().Record, Cancel: b.Registry().Cancel, Telemetry: b.Telemetry(),
	}
}

func (s *conforming) Save(t *testing.T) {
	t.Helper()
	s.save(t)
}

func (s *conforming) RollBack(t *testing.T, publish func(conformance.Bus)) {
	t.Helper()
	s.rollBack(t, func(b *bus.Bus) { publish(connection(b)) })
}

func (s *conforming) DeleteStreams(t *testing.T) {
	t.Helper()
	_, js := bustest.Admin(t, s.server)
	for _, stream := range []string{tasks, results} {
		if err := js.DeleteStream(t.Context(), stream); err != nil {
			t.Fatal(err)
		}
	}
}

func (s *conforming) DeleteRecord(t *testing.T, name string) {
	t.Helper()
	_, js := bustest.Admin(t, s.server)
	bucket, err := js.KeyValue(t.Context(), bucket)
	if err != nil {
		t.Fatal(err)
	}
	if err := bucket.Purge(t.Context(), name); err != nil {
		t.Fatal(err)
	}
}
