package core

import "time"

const (
	// silence is how long a worker may send nothing before the tasks that it holds wait again.
	silence = 20 * time.Second
	// silenceBusy takes its place until busyTime after there were more messages than the coordinator
	// can read: workers whose messages get no reply send fewer.
	silenceBusy = time.Minute
	busyTime    = 5 * time.Second
	// graceTime is how long after a gap no worker can become silent. In a gap, this process did not
	// run or was not connected.
	graceTime = 30 * time.Second
	// longestStep bounds the time between two inputs: more is a gap. Ticks come four times a second.
	longestStep = 2 * time.Second
)

// advance lets time pass, and returns how much of it counts as time of the run. A gap does not
// count, and nobody becomes silent during graceTime after it.
func (f *fleet) advance(now time.Duration) time.Duration {
	step := max(now-f.last, 0)
	f.last = max(now, f.last)
	if step > longestStep {
		f.grace = now + graceTime
		return 0
	}
	return step
}

// connect notes whether the coordinator is connected. After a reconnection, nobody becomes silent
// during graceTime.
func (f *fleet) connect(now time.Duration, connected bool) {
	if connected && !f.connected {
		f.grace = now + graceTime
	}
	f.connected = connected
}

// silent returns the present worker whose last message is the oldest, if it has been silent for too
// long, or else nil.
func (f *fleet) silent(now time.Duration) *worker {
	if f.heard.Len() == 0 || !f.connected || now < f.grace {
		return nil
	}
	longest := silence
	if now < f.busy {
		longest = silenceBusy
	}
	if w := f.heard.Front().Value.(*worker); now-w.heard >= longest {
		return w
	}
	return nil
}
