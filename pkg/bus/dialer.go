package bus

import (
	"math/rand/v2"
	"net"
	"sync"
	"time"
)

const (
	// dialTimeout bounds the wait until a server accepts a connection, and loginTimeout the wait until
	// it then accepts the client. A server with little of a core needs that long for many clients at
	// once.
	dialTimeout  = 2 * time.Second
	loginTimeout = 30 * time.Second
	slowLogin    = 3 * time.Second // after so long, the log says that the first login takes long
	// A client tries again after shortestDelay and a random time of up to as much. This time doubles,
	// up to longestDelay, after each attempt in which a server accepts the connection and not the
	// client.
	shortestDelay = 500 * time.Millisecond
	longestDelay  = time.Minute
)

// dialer makes the network connections of a client, and decides how long it waits in between. It
// closes each connection before the next attempt: nats.go leaves one without a login open.
type dialer struct {
	net.Dialer
	mu     sync.Mutex
	conn   net.Conn // the last connection; nil if it is closed
	failed int      // logins, since a server last accepted the client
	closed bool
}

// Dial connects to an address.
func (d *dialer) Dial(network, address string) (net.Conn, error) {
	d.hangUp()
	conn, err := d.Dialer.Dial(network, address)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		_ = conn.Close() // nothing was sent
		return nil, net.ErrClosed
	}
	d.conn = conn
	return conn, nil
}

// hangUp closes the last connection. It reports whether there was one.
func (d *dialer) hangUp() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.conn == nil {
		return false
	}
	_ = d.conn.Close() // it is of no use any more
	d.conn = nil
	return true
}

// close ends a login under way, and all later ones.
func (d *dialer) close() {
	d.mu.Lock()
	d.closed = true
	d.mu.Unlock()
	d.hangUp()
}

// isClosed reports whether the client has ended.
func (d *dialer) isClosed() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.closed
}

// delay returns how long the client waits before an attempt. The first one after the server was
// lost is number 1.
func (d *dialer) delay(attempt int) time.Duration {
	accepted := d.hangUp()
	if attempt == 1 {
		d.failed = 0
	} else if accepted {
		d.failed++
	}
	return reconnectDelay(d.failed, rand.Float64())
}

// reconnectDelay returns how long a client waits after a number of failed logins, given a random
// number from 0 to 1.
//
// References: M. Brooker, "Exponential backoff and jitter", AWS Architecture Blog (2015).
func reconnectDelay(failed int, random float64) time.Duration {
	spread := min(shortestDelay<<min(failed, 16), longestDelay)
	return shortestDelay + time.Duration(random*float64(spread))
}
