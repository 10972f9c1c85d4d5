package progress_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"nqueens/pkg/progress"
)

// The number of threads follows from what is left and the time for it; threads that end the run about in time stay.
func TestNeededThreads(t *testing.T) {
	hours := func(h float64) time.Duration { return time.Duration(h * float64(time.Hour)) }
	for _, c := range []struct {
		name   string
		demand progress.Demand
		want   int
	}{
		{"nothing is left", progress.Demand{Threads: 8, Left: time.Hour, Until: hours(2)}, 0},
		{"nothing is known, and nobody is there", progress.Demand{Tasks: 100, Until: hours(2)}, 1},
		{"nothing is known yet", progress.Demand{Tasks: 100, Threads: 8, Until: hours(2)}, 8},
		{"from nothing to many", progress.Demand{Tasks: 10_000, Left: hours(100), Until: hours(2)}, 50},
		{"as many as needed", progress.Demand{Tasks: 10_000, Left: hours(100), Threads: 50, Until: hours(2)}, 50},
		{"a little early", progress.Demand{Tasks: 10_000, Left: hours(10), Threads: 53, Until: hours(0.3)}, 53},
		{"a little late", progress.Demand{Tasks: 10_000, Left: hours(10), Threads: 53, Until: hours(0.1)}, 53},
		{"much too early", progress.Demand{Tasks: 10_000, Left: hours(50), Threads: 100, Until: hours(1)}, 50},
		{"much too late", progress.Demand{Tasks: 10_000, Left: hours(50), Threads: 30, Until: hours(1)}, 50},
		{"after the target", progress.Demand{Tasks: 10_000, Left: hours(10), Threads: 10, Until: -hours(1)}, 50},
		{"more threads than tasks", progress.Demand{Tasks: 20, Left: hours(100), Until: hours(1)}, 20},
		{"the last tasks keep their threads", progress.Demand{Tasks: 40, Left: hours(1), Threads: 50, AllPublished: true, Until: hours(1)}, 40},
	} {
		c.demand.Target = hours(2)
		if got := c.demand.NeededThreads(); got != c.want {
			t.Errorf("%s: %d threads, want %d", c.name, got, c.want)
		}
	}
}

// autoscaler is the algorithm of the Kubernetes HorizontalPodAutoscaler for an external metric with an average value, with
// its defaults: a look every 15 s, a tolerance of 10%, at most twice the pods or four more within 15 s, and the greatest
// recommendation of the last 5 minutes for fewer.
//
// Reference: https://kubernetes.io/docs/tasks/run-application/horizontal-pod-autoscale/#algorithm-details
type autoscaler struct {
	pods            int
	recommendations []int
}

const (
	podThreads = 4
	look       = 15 // seconds
)

func (a *autoscaler) look(metric float64) {
	desired := int(math.Ceil(metric / podThreads))
	if a.pods > 0 && math.Abs(metric/float64(a.pods*podThreads)-1) <= 0.1 {
		desired = a.pods
	}
	a.recommendations = append(a.recommendations, desired)
	stabilized := desired
	for _, r := range a.recommendations[max(0, len(a.recommendations)-300/look):] {
		stabilized = max(stabilized, r)
	}
	if desired < a.pods {
		desired = min(stabilized, a.pods)
	}
	a.pods = min(desired, max(2*a.pods, a.pods+4))
}

// A fleet that an autoscaler sizes by the needed threads ends a run within 10% of its target, in at most 105% of the thread
// time of a fixed fleet, and it does not shrink and grow again by more than a pod: with pods that take minutes to
// start, metrics that are late, tasks of other costs than estimated, and searches that are lost with their pods.
func TestAutoscaledFleet(t *testing.T) {
	const metricDelay = 45
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 30))
		target := time.Duration(1+rng.IntN(6)) * time.Hour
		threads := float64(20 + rng.IntN(400)) // of the fixed fleet
		cost := 2 + 20*rng.Float64()           // seconds a task
		work := threads * target.Seconds()     // thread seconds
		bias, startup := 0.1*(2*rng.Float64()-1), 60+rng.IntN(120)
		var scaler autoscaler
		var starting []int // times at which pods are ready
		var metrics []float64
		var sizes []int
		ready, done, used, second := 0, 0.0, 0.0, 0
		for ; done < work && second < 10*int(target.Seconds()); second++ {
			for len(starting) > 0 && starting[0] <= second {
				starting = starting[1:]
				ready++
			}
			tasks := uint64(math.Ceil((work - done) / cost))
			fraction := done / work
			d := progress.Demand{
				Tasks: tasks, Threads: ready * podThreads, AllPublished: tasks < uint64(3*ready*podThreads), Target: target,
				Until: target - time.Duration(second)*time.Second,
			}
			if done > 0 { // the error shrinks as more is measured
				d.Left = time.Duration((work - done) * (1 + bias*(1-fraction)) * float64(time.Second))
			}
			metrics = append(metrics, float64(d.NeededThreads()))
			if second%look == 0 && second >= metricDelay {
				scaler.look(metrics[second-metricDelay])
				for len(starting)+ready < scaler.pods {
					starting = append(starting, second+startup)
				}
				for len(starting)+ready > scaler.pods && len(starting) > 0 {
					starting = starting[:len(starting)-1]
				}
				for ready > scaler.pods { // half of a task is lost with each thread
					ready--
					done = max(done-podThreads*cost/2, 0)
				}
				sizes = append(sizes, scaler.pods)
			}
			busy := min(float64(ready*podThreads), float64(tasks))
			done, used = done+busy, used+float64(ready*podThreads)
		}
		if took := float64(second) / target.Seconds(); took < 0.9 || took > 1.1 || used > 1.05*work || swing(sizes) > 1 {
			t.Errorf("seed %d, %v on %.0f threads: it took %.3f of the target and %.3f of the thread time, with swings of %d pods: %v",
				seed, target, threads, took, used/work, swing(sizes), slices.Compact(sizes))
		}
	}
}

// swing returns by how much the sizes fall and rise again, at most.
func swing(sizes []int) (most int) {
	sizes = slices.Compact(sizes)
	for i, size := range sizes {
		most = max(most, min(slices.Max(sizes[:i+1]), slices.Max(sizes[i:]))-size)
	}
	return most
}
