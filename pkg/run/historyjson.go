package run

import (
	"encoding/json"
	"errors"
	"math"
	"math/big"
	"slices"
	"time"
)

// historyJSON is a stored [History].
type historyJSON struct {
	Interval  time.Duration `json:"interval"`
	Samples   []sampleJSON  `json:"samples"`
	Rest      sampleJSON    `json:"rest"`
	Solutions *big.Int      `json:"solutions,omitempty"`
}

// sampleJSON is a [Sample]: from and to in nanoseconds, solutions, work done, rate, threads, workers, and the number of
// snapshots.
type sampleJSON [8]float64

// MarshalJSON encodes the history with all that Observe needs to go on. That of 200 samples takes at most 40 KiB.
func (h *History) MarshalJSON() ([]byte, error) {
	j := historyJSON{Interval: h.interval, Samples: make([]sampleJSON, len(h.samples)), Rest: encodeSample(&h.rest), Solutions: h.solutions}
	for i := range h.samples {
		j.Samples[i] = encodeSample(&h.samples[i])
	}
	return json.Marshal(j)
}

// UnmarshalJSON replaces what was observed by a history from outside, of at most as many samples.
func (h *History) UnmarshalJSON(text []byte) error {
	var j historyJSON
	if err := json.Unmarshal(text, &j); err != nil {
		return err
	}
	all := slices.Concat(j.Samples, []sampleJSON{j.Rest})
	if j.Interval < time.Second || len(all) > h.most || j.Solutions != nil && (j.Solutions.Sign() < 0 || j.Solutions.BitLen() > maxBits) || slices.ContainsFunc(all, isNoSample) {
		return errors.New("a number of a history is out of range")
	}
	read := History{most: h.most, interval: j.Interval, solutions: j.Solutions}
	end := time.Duration(0)
	for i := range all {
		s := all[i].decode()
		if s.From < end || s.To < s.From {
			return errors.New("the samples of a history do not follow each other")
		}
		read.samples, end = append(read.samples, s), s.To
	}
	last := len(read.samples) - 1
	read.samples, read.rest = read.samples[:last], read.samples[last]
	*h = read
	return nil
}

// isNoSample reports whether a number of a sample from outside is out of range.
func isNoSample(j sampleJSON) bool {
	const longest = 1 << 62 // Nanoseconds.
	return j[0] > longest || j[1] > longest || slices.ContainsFunc(j[:], func(x float64) bool { return x < 0 })
}

func encodeSample(s *Sample) sampleJSON {
	j := sampleJSON{float64(s.From), float64(s.To), s.Solutions, s.WorkDone, s.Rate, s.Threads, s.Workers, s.snapshots}
	for i, x := range j {
		if math.IsNaN(x) || math.IsInf(x, 0) { // for which JSON has no number
			j[i] = 0
		}
	}
	return j
}

func (j *sampleJSON) decode() Sample {
	return Sample{
		From: time.Duration(j[0]), To: time.Duration(j[1]), Solutions: j[2], WorkDone: j[3],
		Rate: j[4], Threads: j[5], Workers: j[6], snapshots: j[7],
	}
}
