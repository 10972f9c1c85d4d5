package fleettest

import (
	"time"

	"nqueens/pkg/bus/bustest/memory"
)

// disturb draws what happens next.
func (l *life) disturb() {
	w := l.workers[l.rng.IntN(len(l.workers))]
	switch l.rng.IntN(17) {
	case 0, 1:
		l.disturbServer()
	case 2, 3:
		l.drawFaults()
	case 4, 5:
		l.tell("worker %d is killed", w.number)
		w.kill()
	case 6:
		l.tell("worker %d is stopped", w.number)
		w.stop()
	case 7, 8, 9:
		if w.isGone() {
			l.tell("worker %d starts", w.number)
			w.start()
		}
	case 10:
		l.tell("the coordinator is killed")
		l.coordinator.kill()
		l.resume()
	case 11:
		l.tell("the coordinator is stopped")
		l.coordinator.stop()
		l.resume()
	case 12:
		if l.rng.IntN(3) == 0 {
			l.tell("another coordinator takes the run over, with a new ledger")
			l.coordinator = l.startCoordinator(l.newLedger)
		}
	case 13:
		l.tell("the server's state is saved")
		l.server.Save()
	case 14, 15, 16:
		w.paused.Store(!w.paused.Load())
		l.tell("worker %d pauses: %v", w.number, w.paused.Load())
	}
}

// disturbServer draws what happens to the server.
func (l *life) disturbServer() {
	switch l.rng.IntN(6) {
	case 0, 1:
		away := time.Duration(l.rng.IntN(20_000)) * time.Millisecond
		l.tell("the server is away for %v", away)
		l.server.SetAway(true)
		time.Sleep(away)
		l.server.SetAway(false)
	case 2:
		l.tell("the server loses what came since it was saved")
		l.server.RollBack()
	case 3:
		l.tell("the streams are deleted")
		l.server.DeleteStreams()
	case 4:
		l.tell("the consumer is deleted")
		l.server.DeleteConsumer(runName)
	case 5:
		l.tell("the record is deleted")
		l.server.DeleteRecord(runName)
	}
}

// drawFaults draws how often the server fails: often for a while, seldom, or never.
func (l *life) drawFaults() {
	often := []float64{0, 0.02, 0.2}[l.rng.IntN(3)]
	draw := func() float64 { return often * l.rng.Float64() * float64(l.rng.IntN(2)) }
	f := memory.Faults{
		LostRequest: draw(), LostAnswer: draw(), LostMessage: draw(), Repeated: draw(), Delayed: draw(),
		MaxDelay: time.Duration(l.rng.IntN(6000)) * time.Millisecond,
		Stale:    draw(), Full: draw(), Conflicting: draw(),
	}
	l.tell("faults: %+v", f)
	l.server.SetFaults(f)
}
