package testkit

import (
	"fmt"
	"math/rand/v2"
	"net"
	"testing"
)

// Address returns a loopback address where no process listens, and which no other test gets until
// this one ends. So a server that was killed can listen there again. The port is below the ports of
// outgoing connections. While the test runs, a UDP socket reserves the port; TCP stays free.
func Address(t testing.TB) string {
	t.Helper()
	const first, ports = 20000, 10000
	for range ports {
		address := fmt.Sprintf("127.0.0.1:%d", first+rand.IntN(ports))
		reserved, err := net.ListenPacket("udp", address)
		if err != nil {
			continue
		}
		listener, err := net.Listen("tcp", address)
		if err != nil {
			_ = reserved.Close()
			continue
		}
		if err := listener.Close(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = reserved.Close() })
		return address
	}
	t.Fatalf("found no free port from %d to %d", first, first+ports-1)
	return ""
}
