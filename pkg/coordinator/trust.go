package coordinator

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"nqueens/pkg/ledger"
	"nqueens/pkg/progress"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
)

// newChunks is the number of chunks of a new key that are all checked.
const newChunks = 20

// trust says who is believed: how many voters must agree on a task, and who is a voter. A voter is an
// admitted key. Results of other keys add nothing to agreement; a run that needs several voters a task
// refuses them.
type trust struct {
	ledger.Trust
	cfg    *Config
	ledger *ledger.Ledger
	own    map[string]bool // keys of this process
	voters map[string]bool // connected keys that are admitted
	// unadmitted are the connected keys whose results the run refuses because they are not admitted.
	unadmitted []string
}

func newTrust(cfg *Config, l *ledger.Ledger) trust {
	t := trust{Trust: ledger.Trust{Redundancy: 1}, cfg: cfg, ledger: l, own: make(map[string]bool)}
	if stored, ok := l.Trust(); ok {
		t.Trust = stored
	}
	for _, key := range cfg.OwnKeys {
		t.own[key] = true
	}
	return t
}

// agrees reports whether as many voters agree on a task as every task needs. Where that is one, a count
// of any key will do. The coordinator's own count takes the place of voters only for a task that no worker
// gets any more.
func (t *trust) agrees(id uint64) bool { return t.ledger.Has(id) && !t.ledger.LacksVoters(id) }

// isChecked reports whether enough voters agree on a task, and also need voters, or the coordinator, if it
// is to be spot-checked: if need is more than on every task.
func (t *trust) isChecked(id uint64, need int) bool {
	if !t.agrees(id) {
		return false
	}
	return need <= t.Redundancy || t.ledger.Voters(id) >= need || t.ledger.IsRecounted(id) || t.ledger.IsRefereed(id)
}

// need returns how many voters must agree on the tasks of a chunk that a key has counted: one more
// than on every task, if a spot check is to follow, and at least two if the key is new. For a spot check
// the coordinator's own count is as good.
func (t *trust) need(first uint64, tasks int, key string, chunks uint64) int {
	need := t.Redundancy
	if isChosen(&t.Seed, t.SpotCheck, first, tasks) {
		need++
	}
	if t.SpotCheck > 0 && key != "" && !t.own[key] && chunks < newChunks {
		need = max(need, 2)
	}
	return need
}

// isChosen reports whether a chunk is spot-checked: a share of all chunks, which nobody knows
// without the seed.
func isChosen(seed *[32]byte, share float64, first uint64, tasks int) bool {
	if share >= 1 {
		return true
	}
	mac := hmac.New(sha256.New, seed[:])
	_ = binary.Write(mac, binary.BigEndian, [2]uint64{first, uint64(tasks)}) // a hash takes everything
	drawn := binary.BigEndian.Uint64(mac.Sum(nil))
	return float64(drawn)/math.MaxUint64 < share
}

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
func (t *trust) refusal(key string, admission []byte) error {
	if t.ledger.IsQuarantined(key) {
		return errQuarantined
	}
	if admitted, _ := t.admits(key, admission); t.Redundancy > 1 && !admitted {
		return errUnadmitted
	}
	return nil
}

// observe notes which voters are connected, and whose results the run refuses.
func (t *trust) observe(workers []progress.Identity) {
	t.voters, t.unadmitted = make(map[string]bool), nil
	for _, w := range workers {
		admitted, _ := t.admits(w.Key, w.Admission)
		refused := t.refusal(w.Key, w.Admission) != nil
		switch {
		case admitted && !refused:
			t.voters[w.Key] = true
		case !admitted && refused && w.Key != "" && !t.ledger.IsQuarantined(w.Key):
			t.unadmitted = append(t.unadmitted, w.Key)
		}
	}
	slices.Sort(t.unadmitted)
	t.unadmitted = slices.Compact(t.unadmitted)
}

// refusedKeys returns connected keys that are not admitted, for a beat: a random choice, if there are too many.
func (t *trust) refusedKeys() []string {
	if len(t.unadmitted) > run.MaxUnadmitted {
		rand.Shuffle(len(t.unadmitted), func(i, k int) { t.unadmitted[i], t.unadmitted[k] = t.unadmitted[k], t.unadmitted[i] })
	}
	return slices.Clone(t.unadmitted[:min(len(t.unadmitted), run.MaxUnadmitted)])
}

// isConnected reports whether a voter is connected that is none of those given.
func (t *trust) isConnected(except []queens.Result) bool {
	for voter := range t.voters {
		if !slices.ContainsFunc(except, func(r queens.Result) bool { return r.Voter() == voter }) {
			return true
		}
	}
	return false
}

// observeVoters looks which voters are connected.
func (c *Coordinator) observeVoters() { c.trust.observe(c.cfg.Roster.Identities()) }

// How often it is logged that too few voters are connected, unless their number changes.
const fewVotersInterval = 5 * time.Minute

// warnFewVoters logs that the run waits for voters.
func (c *Coordinator) warnFewVoters() {
	t := &c.trust
	switch {
	case t.Redundancy == 1 || len(t.voters) >= t.Redundancy:
		c.warnVotersAt = time.Time{}
	case len(t.voters) != c.warnedVoters || !time.Now().Before(c.warnVotersAt):
		c.warnVotersAt, c.warnedVoters = time.Now().Add(fewVotersInterval), len(t.voters)
		c.cfg.Log.Warn().Int("voters", len(t.voters)).Int("redundancy", t.Redundancy).Int("unadmitted", len(t.unadmitted)).
			Msg("the run waits for workers with further admitted keys: that many keys must agree on every task. coordinator keys add, the join token or --admitted admits a key")
	}
}
