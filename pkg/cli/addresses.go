package cli

import (
	"net"
	"net/url"
	"strconv"
	"strings"
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
	if strings.ContainsAny(address, "?#") || strings.Contains(u.Path, "@") { // perhaps of a password, which would be shown
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
