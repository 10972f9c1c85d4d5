package cli

import (
	"net"
	"net/url"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
)

// CheckAddress validates the host:port of a flag on which to listen; its error gives the
// example. An empty address is valid.
func CheckAddress(flag, address, example string) error {
	if address == "" {
		return nil
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil || strings.ContainsAny(host, " \t\n/@") || !isPort(port) {
		return Usagef("--%s must be host:port, such as %s, with a port from 0 to 65535, not %q", flag, example, address)
	}
	return nil
}

// CheckHTTP validates the address of --http, which may be empty.
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
	switch {
	case c.URL == "" && c.required:
		return Usagef("--nats is empty: it must name a server, such as nats://127.0.0.1:4222")
	case c.URL == "":
		return nil
	}
	for address := range strings.SplitSeq(c.URL, ",") {
		if address = strings.TrimSpace(address); !isServer(address) {
			return Usagef("--nats must be the URL of a server, such as nats://127.0.0.1:4222, or several, separated by commas, not %q",
				address[strings.LastIndex(address, "@")+1:])
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
	if port := u.Port(); port != "" && (port == "0" || !isPort(port)) {
		return false
	}
	switch u.Scheme {
	case "nats", "tls":
		return strings.TrimSuffix(u.Path, "/") == ""
	case "ws", "wss":
		return true
	}
	return false
}

func isPort(digits string) bool {
	_, err := strconv.ParseUint(digits, 10, 16)
	return err == nil
}
