package cli

import (
	"net"
	"net/url"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
)

// CheckAddress returns what is wrong with the host:port of a flag on which to listen; such
// as is what to write instead. None is right.
func CheckAddress(flag, address, such string) error {
	if address == "" {
		return nil
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil || strings.ContainsAny(host, " \t\n/@") || !isPort(port) {
		return Usagef("--%s must be host:port, such as %s, with a port from 0 to 65535, not %q", flag, such, address)
	}
	return nil
}

// CheckHTTP returns what is wrong with the address of --http; none is right.
func CheckHTTP(address string) error { return CheckAddress("http", address, defaultHTTP) }

// Connection is how a command reaches its NATS server, as the person wrote it.
type Connection struct {
	URL      string // one or several, separated by commas; empty without --nats
	required bool
}

// ConnectionFlags registers the flags of a connection to a NATS server. The usage begins
// with what the command uses the server for. A connection with a default URL is required.
func ConnectionFlags(flags *pflag.FlagSet, defaultURL, purpose string) *Connection {
	c := &Connection{required: defaultURL != ""}
	flags.StringVar(&c.URL, "nats", defaultURL, purpose+" the NATS server at this `URL`, or these, separated by commas")
	return c
}

// Check validates the flags. Its error does not repeat a user or password.
func (c *Connection) Check() error {
	if c.URL == "" {
		if c.required {
			return Usagef("--nats is empty: it must name a server, such as nats://127.0.0.1:4222")
		}
		return nil
	}
	for one := range strings.SplitSeq(c.URL, ",") {
		one = strings.TrimSpace(one)
		if !isServer(one) {
			return Usagef("--nats must be the URL of a server, such as nats://127.0.0.1:4222, or several, separated by commas, not %q",
				one[strings.LastIndex(one, "@")+1:])
		}
	}
	return nil
}

func isServer(address string) bool {
	if !strings.Contains(address, "://") {
		address = "nats://" + address
	}
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" || strings.Contains(u.Hostname(), " ") || strings.HasSuffix(u.Host, ":") {
		return false
	}
	path := strings.TrimSuffix(u.Path, "/")
	switch u.Scheme {
	case "nats", "tls":
		return path == "" && isServerPort(u.Port())
	case "ws", "wss":
		return isServerPort(u.Port())
	}
	return false
}

// isServerPort reports whether a server may be at that port; none is the usual one.
func isServerPort(digits string) bool { return digits == "" || digits != "0" && isPort(digits) }

func isPort(digits string) bool {
	_, err := strconv.ParseUint(digits, 10, 16)
	return err == nil
}
