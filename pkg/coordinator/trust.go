package coordinator

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"math"
	"slices"
	"time"

	"nqueens/pkg/ledger"
	"nqueens/pkg/progress"
	"nqueens/pkg/queens"
)

// newChunks is the number of chunks of a new key that are all checked.
const newChunks = 20

// trust says who is believed: how many voters must agree on a task, and who is a voter.
type trust struct {
	ledger.Trust
	cfg    *Config
	ledger *ledger.Ledger
	own    map[string]bool // keys of this process
	voters map[string]bool // connected, see [queens.Result.Voter]
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

// agrees reports whether as many voters agree on a task as on every task, or the reference kernel
// has counted it.
func (t *trust) agrees(id uint64) bool { return t.isConfirmed(id, t.Redundancy) }

// isConfirmed reports whether so many voters agree on a task, or the reference kernel has counted
// it.
func (t *trust) isConfirmed(id uint64, need int) bool {
	return t.ledger.Confirmations(id) >= need || t.ledger.IsRefereed(id)
}

// need returns how many voters must agree on the tasks of a chunk that a key has counted: one more
// than on every task, if a spot check is to follow, and at least two if the key is new.
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

// admits reports whether a key votes for itself.
func (t *trust) admits(key string, admission []byte) bool {
	return key != "" && (t.own[key] || t.cfg.Admits != nil && t.cfg.Admits(key, admission))
}

// refuses reports whether nothing is accepted from a key.
func (t *trust) refuses(key string, admission []byte) bool {
	return t.ledger.IsQuarantined(key) || t.ledger.IsQuarantined(queens.Unadmitted) && !t.admits(key, admission)
}

// observe notes which voters are connected.
func (t *trust) observe(workers []progress.Identity) {
	t.voters = make(map[string]bool)
	for _, w := range workers {
		switch {
		case t.refuses(w.Key, w.Admission):
		case t.admits(w.Key, w.Admission):
			t.voters[w.Key] = true
		default:
			t.voters[""] = true
		}
	}
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
		c.cfg.Log.Warn().Int("voters", len(t.voters)).Int("redundancy", t.Redundancy).
			Msg("the run waits for workers with other keys: so many must agree on every task. All keys that are not admitted are one voter")
	}
}
