package coordinator

import (
	"maps"
	"math/rand/v2"
	"slices"

	"nqueens/pkg/ledger"
	"nqueens/pkg/progress"
	"nqueens/pkg/run"
)

// trust says who is a voter: an admitted key. Results of other keys add nothing to agreement; a run that needs
// several voters a task refuses them.
type trust struct {
	ledger.Trust
	cfg    *Config
	ledger *ledger.Ledger
	own    map[string]bool // keys of this process
	voters map[string]bool // admitted keys of the workers connected that do not pause
	// unadmitted are the connected keys whose results the run refuses because they are not admitted.
	unadmitted []string
}

func newTrust(cfg *Config, l *ledger.Ledger) trust {
	t := trust{Trust: l.Header().Trust, cfg: cfg, ledger: l, own: make(map[string]bool)}
	for _, key := range cfg.OwnKeys {
		t.own[key] = true
	}
	return t
}

// isOwn reports whether a key is of this process.
func (t *trust) isOwn(key string) bool { return t.own[key] }

// admits reports whether a key is a voter, and if so, whether only the join token admits it.
func (t *trust) admits(key string, admission []byte) (admitted, byToken bool) {
	switch {
	case key == "":
		return false, false
	case t.own[key]:
		return true, false
	case t.cfg.Admits == nil:
		return false, false
	}
	return t.cfg.Admits(key, admission)
}

// refusal returns why nothing is accepted from a key, or nil.
func (t *trust) refusal(key string, admitted bool) error {
	switch {
	case t.ledger.IsQuarantined(key):
		return errQuarantined
	case t.Redundancy > 1 && !admitted:
		return errUnadmitted
	}
	return nil
}

// observe notes which voters are connected, and whose results the run refuses. It reports whether the voters
// have changed.
func (t *trust) observe(workers []progress.Identity) (changed bool) {
	before := t.voters
	t.voters, t.unadmitted = make(map[string]bool), nil
	for _, w := range workers {
		admitted, _ := t.admits(w.Key, w.Admission)
		refused := t.refusal(w.Key, admitted) != nil
		switch {
		case admitted && !refused:
			if !w.Paused {
				t.voters[w.Key] = true
			}
		case !admitted && refused && w.Key != "" && !t.ledger.IsQuarantined(w.Key):
			t.unadmitted = append(t.unadmitted, w.Key)
		}
	}
	slices.Sort(t.unadmitted)
	t.unadmitted = slices.Compact(t.unadmitted)
	return !maps.Equal(before, t.voters)
}

// connected returns the connected voters, sorted.
func (t *trust) connected() []string { return slices.Sorted(maps.Keys(t.voters)) }

// refusedKeys returns connected keys that are not admitted, for an announcement: a random choice, if there are too many.
func (t *trust) refusedKeys() []string {
	if len(t.unadmitted) > run.MaxUnadmitted {
		rand.Shuffle(len(t.unadmitted), func(i, k int) { t.unadmitted[i], t.unadmitted[k] = t.unadmitted[k], t.unadmitted[i] })
	}
	return slices.Clone(t.unadmitted[:min(len(t.unadmitted), run.MaxUnadmitted)])
}

// refusesWorker reports whether nothing is accepted from a worker: what it holds is not held.
func (c *core) refusesWorker(i progress.Identity) bool {
	admitted, _ := c.trust.admits(i.Key, i.Admission)
	return c.trust.refusal(i.Key, admitted) != nil
}

// newChunkID returns the id of a new chunk: it tells nothing of its tasks.
func newChunkID() uint64 { return max(rand.Uint64(), 1) }
