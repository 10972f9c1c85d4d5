package testkit

import (
	"net"
	"testing"
)

// Tests get different addresses, and can listen there more than once.
func TestAddress(t *testing.T) {
	given := make(map[string]bool)
	for range 300 {
		given[Address(t)] = true
	}
	if len(given) != 300 {
		t.Errorf("300 addresses, of which %d differ", len(given))
	}
	address := Address(t)
	for range 2 {
		l, err := net.Listen("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
