package session

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"nqueens/pkg/ledger"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
)

// A run says at its start how long its spot checks take, if they have no bound and that is long.
func TestLongChecksAreAnnounced(t *testing.T) {
	for name, c := range map[string]struct {
		n     int
		check run.SpotCheck
		says  bool
	}{
		"long":    {20, run.SpotCheck{Share: 1}, true},
		"bounded": {20, run.SpotCheck{Share: 1, Bounded: true}, false},
		"none":    {20, run.SpotCheck{}, false},
		"short":   {12, run.SpotCheck{Share: 1}, false},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := Plan(t.Context(), Job{N: c.n, Symmetry: queens.None, Depth: 2})
			if err != nil {
				t.Fatal(err)
			}
			h := ledger.Header{Run: "n20-20261120-153012-ab12", Created: time.Now(), Manifest: m, Trust: newTrust(1, c.check)}
			l, err := ledger.Create(t.TempDir(), h)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = l.Close() }()
			var log bytes.Buffer
			s := &Session{ledger: l, log: zerolog.New(&log)}
			if err := s.announceChecks(t.Context()); err != nil {
				t.Fatal(err)
			}
			if says := strings.Contains(log.String(), `"spot_check":"100%","estimate_s":`); says != c.says || !says && log.Len() > 0 {
				t.Errorf("it says %s", log.String())
			}
		})
	}
}

// The time of spot checks is their share of the time of all searches, on all cores.
func TestCheckTime(t *testing.T) {
	if got := checkTime(10*time.Hour, 0.05, 2); got != 15*time.Minute {
		t.Errorf("5%% of 10 hours take 2 cores %v", got)
	}
}
