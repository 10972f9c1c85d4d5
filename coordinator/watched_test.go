package main

import (
	"encoding/json"
	"math/big"
	"strings"
	"testing"

	"nqueens/pkg/display"
	"nqueens/pkg/run"
)

// The total of a board with placed queens is told as one, and that of a whole board has no
// word of them.
func TestWatchedPlaced(t *testing.T) {
	for placed, says := range map[int]string{0: "", 3: "placed 3 beforehand; coordinator runs says where"} {
		s := run.Progress{Run: "n8-a", N: 8, Placed: placed, State: run.Complete, Total: big.NewInt(5), Solutions: big.NewInt(5)}
		table := strings.Join(strings.Fields(display.Summary(watchedTable(&s), false)), " ")
		if marked := strings.Contains(table, "placed"); marked != (placed > 0) || !strings.Contains(table, says) {
			t.Errorf("%d placed: the table is %q", placed, table)
		}
		object, err := json.Marshal(watched(&s))
		if err != nil {
			t.Fatal(err)
		}
		if marked := strings.Contains(string(object), `"n":8,"placed":3,`); marked != (placed > 0) || !marked && strings.Contains(string(object), "placed") {
			t.Errorf("%d placed: the object is %s", placed, object)
		}
	}
}
