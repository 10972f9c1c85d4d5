package bus

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/nats-io/nats.go"

	"nqueens/pkg/queens"
)

// cause returns why a server can't be reached, for people, and what may help. Both texts stay the
// same while the cause does: they have no port that changes with each try.
func cause(err error) (why, help string) {
	var name *net.DNSError
	var op *net.OpError
	isOp := errors.As(err, &op)
	isTimeout := errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, nats.ErrTimeout) ||
		errors.Is(err, context.DeadlineExceeded)
	switch {
	case errors.As(err, &name):
		return fmt.Sprintf("the name %s is not known", name.Name),
			"check the name, and the name server of this machine"
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, nats.ErrNoServers):
		// the client hides a refusal so
		return "nothing listens there", "is a server running there, and is the address right?"
	case errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE):
		return "too many files are open here", "raise the limit of open files, as with ulimit -n"
	case isFull(err):
		return "the server is full", "raise its max_connections, or its limit of open files"
	case errors.Is(err, syscall.EHOSTUNREACH) || errors.Is(err, syscall.ENETUNREACH):
		return "no route leads there", "check the network and the address"
	case isTimeout && isOp && op.Op == "dial":
		return "nothing answers there", "is the port open in every firewall between?"
	case isTimeout, errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET):
		return "the server accepts the connection and does not speak NATS",
			"it may be full, or expect TLS first (handshake_first), or be no NATS server"
	case errors.Is(err, nats.ErrStaleConnection):
		return fmt.Sprintf("the server has not answered for %d s", maxPings*pingInterval/time.Second),
			"is the link slow, or does it drop large packets?"
	case isOp:
		return queens.Sanitize(op.Op + ": " + op.Err.Error()), ""
	}
	return queens.Sanitize(err.Error()), ""
}

// isFull reports whether a server says that it takes no more connections.
func isFull(err error) bool {
	return errors.Is(err, nats.ErrMaxConnectionsExceeded) ||
		errors.Is(err, nats.ErrMaxAccountConnectionsExceeded) ||
		strings.Contains(err.Error(), "maximum connections exceeded")
}
