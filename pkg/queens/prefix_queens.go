package queens

import "math/bits"

// maxPlacements bounds the search of [Prefix.Queens].
const maxPlacements = 1 << 16

// Queens returns a way to place queens on the rows above the prefix that leads to it: the column of
// the queen in each row. There may be others. It fails if there is none, or if it takes too long to
// find one.
func (p Prefix) Queens(b *Board) (columns []int, found bool) {
	if p.Validate(b) != nil {
		return nil, false
	}
	s := placementSearch{board: b, goal: p, left: maxPlacements, columns: make([]int, 0, p.Row)}
	found = s.extend(Prefix{})
	return s.columns, found
}

// placementSearch finds queens that lead to a prefix.
type placementSearch struct {
	board   *Board
	goal    Prefix
	left    int // placements that may still be tried
	columns []int
}

func (s *placementSearch) extend(p Prefix) bool {
	if p.Row == s.goal.Row {
		return p == s.goal
	}
	rows := s.goal.Row - p.Row
	for free := p.Free(s.board) & s.goal.Cols; free != 0; free &= free - 1 {
		square := free & -free
		attacksLeft := uint32(uint64(square)<<rows) & s.board.Columns()
		attacksRight := square >> rows
		if attacksLeft&^s.goal.Left != 0 || attacksRight&^s.goal.Right != 0 {
			continue
		}
		if s.left--; s.left < 0 {
			return false
		}
		s.columns = append(s.columns, bits.TrailingZeros32(square))
		if s.extend(p.Place(s.board, square)) {
			return true
		}
		s.columns = s.columns[:p.Row]
	}
	return false
}
