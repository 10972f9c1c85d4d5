package core

import "cmp"

// speeds has the present workers whose speed is known, in the order of the speeds of a searcher. It
// is a treap: a binary tree in the order of the speeds, in which no node has a higher priority than
// its parent. Each node has sums of its subtree.
//
// References: [Treap] R. Seidel, C. R. Aragon, "Randomized search trees", Algorithmica 16 (1996),
// 464-497.
type speeds struct{ root *speedNode }

type speedNode struct {
	worker      *worker
	speed       float64 // of a searcher
	searchers   int
	priority    uint64
	left, right *speedNode
	// of the subtree
	number, known int     // workers and searchers
	work          float64 // of all searchers in a second
}

func compareSpeeds(a, b *speedNode) int {
	return cmp.Or(cmp.Compare(a.speed, b.speed), cmp.Compare(a.worker.number, b.worker.number))
}

// add adds a worker.
func (s *speeds) add(w *worker, speed float64) *speedNode {
	n := &speedNode{worker: w, speed: speed, searchers: w.request.Searchers,
		priority: scramble(w.number)}
	left, right := divide(s.root, n)
	s.root = join(join(left, n.sum()), right)
	return n
}

// remove removes a worker.
func (s *speeds) remove(n *speedNode) { s.root = without(s.root, n) }

func without(at, n *speedNode) *speedNode {
	switch {
	case at == n:
		return join(n.left, n.right)
	case compareSpeeds(n, at) < 0:
		at.left = without(at.left, n)
	default:
		at.right = without(at.right, n)
	}
	return at.sum()
}

// scramble returns the priority of a worker. Nobody can choose the numbers of workers, so the tree
// is about as deep as one with random priorities.
func scramble(x uint64) uint64 { // the last steps of SplitMix64
	x = (x + 0x9e3779b97f4a7c15) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// sum computes the sums of a node from its children.
func (n *speedNode) sum() *speedNode {
	n.number, n.known, n.work = 1, n.searchers, n.speed*float64(n.searchers)
	for _, child := range []*speedNode{n.left, n.right} {
		if child != nil {
			n.number += child.number
			n.known += child.known
			n.work += child.work
		}
	}
	return n
}

// divide divides a tree into the nodes before and after a node.
func divide(t, n *speedNode) (left, right *speedNode) {
	switch {
	case t == nil:
		return nil, nil
	case compareSpeeds(t, n) < 0:
		t.right, right = divide(t.right, n)
		return t.sum(), right
	}
	left, t.left = divide(t.left, n)
	return left, t.sum()
}

// join joins two trees. All nodes of the first come before those of the second.
func join(left, right *speedNode) *speedNode {
	switch {
	case left == nil:
		return right
	case right == nil:
		return left
	case left.priority > right.priority:
		left.right = join(left.right, right)
		return left.sum()
	}
	right.left = join(left, right.left)
	return right.sum()
}

// len returns the number of workers.
func (s *speeds) len() int {
	if s.root == nil {
		return 0
	}
	return s.root.number
}

// sum returns the work that all searchers with a known speed do in a second, and how many they are.
func (s *speeds) sum() (work float64, searchers int) {
	if s.root == nil {
		return 0, 0
	}
	return s.root.work, s.root.known
}

// at returns the node with the given index, from the slowest on. There must be one.
func (s *speeds) at(i int) *speedNode {
	n := s.root
	for {
		before := 0
		if n.left != nil {
			before = n.left.number
		}
		switch {
		case i < before:
			n = n.left
		case i == before:
			return n
		default:
			i -= before + 1
			n = n.right
		}
	}
}
