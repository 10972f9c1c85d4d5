package progress

import "time"

// Point is how far a run was at some time. From one point to the next no field decreases, except
// Work and Solutions in a dispute or after a ban.
type Point struct {
	Elapsed   time.Duration // how long coordinators had worked on the run, without pauses
	Work      float64       // share of the estimated work that was done, 0 to 1
	Solutions float64       // solutions found, weighted
}

// MaxPoints bounds the number of points of a [History].
const MaxPoints = 400

// History keeps at most [MaxPoints] points of a run. When there are more, it drops every other
// point, and from then on keeps points that are about twice as far apart. The zero value is empty.
type History struct {
	points  []Point
	between time.Duration // least time between two kept points
	latest  Point
}

// Add adds a point, unless it is older than the latest.
func (h *History) Add(p Point) {
	if p.Elapsed < h.latest.Elapsed {
		return
	}
	h.latest = p
	if n := len(h.points); n > 0 && p.Elapsed-h.points[n-1].Elapsed < max(h.between, time.Second) {
		return
	}
	h.points = append(h.points, p)
	if len(h.points) < MaxPoints {
		return
	}
	half := h.points[:0]
	for i := 0; i < len(h.points); i += 2 {
		half = append(half, h.points[i])
	}
	h.points = half
	last := len(half) - 1
	// points come at uneven times
	h.between = (half[last].Elapsed - half[0].Elapsed) / time.Duration(last) * 9 / 10
}

// Points returns a copy of the points in order, the latest included.
func (h *History) Points() []Point {
	points := append(make([]Point, 0, len(h.points)+1), h.points...)
	if n := len(points); n > 0 && points[n-1] != h.latest {
		points = append(points, h.latest)
	}
	return points
}
