package join

import (
	"net"
	"regexp"
	"slices"
	"strings"
)

// withPort returns host:port of a host with a port of its own or without.
func withPort(host, port string) string {
	if _, _, err := net.SplitHostPort(host); err == nil {
		return host
	}
	return net.JoinHostPort(strings.Trim(host, "[]"), port)
}

// addresses returns the host:port pairs under which others reach a listener: those of the default routes first, then the
// others, those of bridges of containers and of this machine alone last.
func addresses(host, port, advertise string) (pairs []string) {
	if advertise != "" {
		return []string{withPort(advertise, port)}
	}
	if ip := net.ParseIP(host); host != "" && !ip.IsUnspecified() {
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

// interfaces returns the addresses of this machine's interfaces that are up: those of bridges, or the others.
func interfaces(bridges bool) (found []string) {
	all, _ := net.Interfaces()
	for _, i := range all {
		if i.Flags&net.FlagUp == 0 || i.Flags&net.FlagLoopback != 0 || bridge.MatchString(i.Name) != bridges {
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
