package progress

import "time"

// workerRate averages a worker's latest tasks: each new task multiplies the weight of all
// before it by decay, so that some six tasks halve it.
type workerRate struct {
	solutions float64
	search    time.Duration // of one thread
	countedAt time.Time     // when the latest result came
}

const decay = 0.9

// perSecond returns the solutions a second of some threads; zero before the first task.
func (w workerRate) perSecond(threads int) float64 {
	if w.search <= 0 {
		return 0
	}
	return w.solutions / w.search.Seconds() * float64(threads)
}

// maxRates bounds the rates kept of workers without heartbeats: results may name anybody.
const maxRates = 1 << 16

// ObserveResult records that one thread of the worker with a key and name counted a task in the time search.
// The solutions of the task are weighted by its class.
func (r *Roster) ObserveResult(key, name string, solutions float64, search time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	id := worker{key, name}
	if _, present := r.workers[id]; !present && len(r.rates) >= maxRates {
		return
	}
	w := r.rates[id]
	r.rates[id] = workerRate{
		solutions: decay*w.solutions + solutions,
		search:    time.Duration(decay*float64(w.search)) + search,
		countedAt: time.Now(),
	}
}
