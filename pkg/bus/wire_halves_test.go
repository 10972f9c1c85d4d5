package bus

import (
	"testing"

	"google.golang.org/protobuf/proto"

	nqueensv1 "nqueens/proto/nqueens/v1"

	"nqueens/pkg/halves"
)

// A chunk of row sets is refused if it has parts of prefixes, no or too many row sets, or row sets
// that its board does not have.
func TestRefusedRowSets(t *testing.T) {
	decode := func(change func(c *nqueensv1.Chunk)) error {
		c := &nqueensv1.Chunk{Ticket: make([]byte, 16), N: 14, FirstSet: 1700, Sets: []uint32{10, 6}}
		change(c)
		data, err := proto.Marshal(
			&nqueensv1.WorkReply{Protocol: Protocol, Instance: 1, Chunks: []*nqueensv1.Chunk{c}})
		if err != nil {
			t.Fatal(err)
		}
		_, err = DecodeWorkReply(data)
		return err
	}
	if last := halves.Sets(14); last != 1716 {
		t.Fatalf("a board of side 14 has %d row sets", last)
	}
	if err := decode(func(*nqueensv1.Chunk) {}); err != nil {
		t.Errorf("the last row sets are refused: %v", err)
	}
	for name, change := range map[string]func(c *nqueensv1.Chunk){
		"a row set beyond the last":  func(c *nqueensv1.Chunk) { c.FirstSet++ },
		"a number that wraps around": func(c *nqueensv1.Chunk) { c.FirstSet = 1<<64 - 11 },
		"another board with fewer":   func(c *nqueensv1.Chunk) { c.N = 13 },
		"a side of 33":               func(c *nqueensv1.Chunk) { c.N = 33 },
		"a side of 2^32-1":           func(c *nqueensv1.Chunk) { c.N = 1<<32 - 1 },
		"no side":                    func(c *nqueensv1.Chunk) { c.N = 0 },
		"no tasks":                   func(c *nqueensv1.Chunk) { c.Sets = nil },
		"a task without a row set":   func(c *nqueensv1.Chunk) { c.Sets[1] = 0 },
		"a task with too many":       func(c *nqueensv1.Chunk) { c.N, c.Sets[1] = 32, 1<<14+1 },
		"too many tasks":             func(c *nqueensv1.Chunk) { c.N, c.Sets = 32, ones(1<<12+1) },
		"a board":                    func(c *nqueensv1.Chunk) { c.Allow = []uint32{1} },
		"sizes of prefixes":          func(c *nqueensv1.Chunk) { c.Prefixes = []uint32{1, 1} },
		"masks":                      func(c *nqueensv1.Chunk) { c.Masks = []uint32{0, 0, 0} },
		"a short ticket":             func(c *nqueensv1.Chunk) { c.Ticket = c.Ticket[1:] },
		"prefixes, and a first row set": func(c *nqueensv1.Chunk) {
			*c = nqueensv1.Chunk{Ticket: c.Ticket, Allow: []uint32{1}, Prefixes: []uint32{1},
				Masks: []uint32{0, 0, 0}, FirstSet: 1}
		},
	} {
		if err := decode(change); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
	if err := decode(func(c *nqueensv1.Chunk) { c.N, c.Sets = 32, ones(1<<12) }); err != nil {
		t.Errorf("the most tasks are refused: %v", err)
	}
}

func ones(n int) []uint32 {
	all := make([]uint32, n)
	for i := range all {
		all[i] = 1
	}
	return all
}
