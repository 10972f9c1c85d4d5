package natsserver

import (
	"net"
	"regexp"
	"slices"

	"nqueens/pkg/join"
)

// Addresses returns the host:port pairs under which others reach the server. With advertise, a host with a port or without,
// that is the only one. Otherwise those of the default routes come first, then the others, those of bridges of containers and
// of this machine alone last.
func (s *Server) Addresses(advertise string) (pairs []string) {
	host, port, _ := net.SplitHostPort(s.Address())
	if advertise != "" {
		return []string{join.HostPort(advertise, port)}
	}
	if host != "" && !net.ParseIP(host).IsUnspecified() {
		return []string{net.JoinHostPort(host, port)}
	}
	for _, ip := range slices.Concat(defaultRoutes(), interfaces(false), interfaces(true), []string{"127.0.0.1"}) {
		if pair := net.JoinHostPort(ip, port); !slices.Contains(pairs, pair) {
			pairs = append(pairs, pair)
		}
	}
	return pairs
}

// defaultRoutes returns the addresses of this machine from which it reaches others by its default routes. It sends nothing.
func defaultRoutes() (found []string) {
	for _, elsewhere := range []string{"192.0.2.1:9", "[2001:db8::1]:9"} { // for documentation, RFC 5737 and 3849
		if c, err := net.Dial("udp", elsewhere); err == nil {
			found = append(found, c.LocalAddr().(*net.UDPAddr).IP.String())
			_ = c.Close()
		}
	}
	return found
}

// bridge matches the names of interfaces that are bridges of containers or virtual machines.
var bridge = regexp.MustCompile(`^(docker|br-|veth|cni|virbr|podman|flannel|cali)`)

// interfaces returns the addresses of this machine's interfaces that are up and connected: those of bridges, or the others.
func interfaces(bridges bool) (found []string) {
	all, _ := net.Interfaces()
	for _, i := range all {
		if i.Flags&net.FlagRunning == 0 || i.Flags&net.FlagLoopback != 0 || bridge.MatchString(i.Name) != bridges {
			continue
		}
		addresses, _ := i.Addrs()
		for _, a := range addresses {
			if network, ok := a.(*net.IPNet); ok && !network.IP.IsLinkLocalUnicast() {
				found = append(found, network.IP.String())
			}
		}
	}
	return found
}
