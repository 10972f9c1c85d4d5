package bus

import "time"

// Flush waits until the server has all that was sent, if there is a connection.
func (b *Bus) Flush(timeout time.Duration) { b.flush(timeout) }
