package join

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"nqueens/pkg/durable"
)

// Files of a server's certificate, in a folder that only the server reads.
const (
	certificateFile = "server.crt"
	keyFile         = "server.key"
)

// Listening makes or reads what the embedded server of a data folder needs to let others in: password and certificate, which
// are made once. On loopback there is no TLS.
func Listening(data, listen string) (t Token, config *tls.Config, err error) {
	path := tokenPath(data)
	if t, err = Load(path); err != nil {
		if there, statErr := exists(path); there || statErr != nil {
			return t, nil, err // damaged, or not readable: workers elsewhere may have the right one
		}
		t = Token{User: Worker, Password: newPassword()}
	}
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		return t, nil, fmt.Errorf("listen address %q: %w", listen, err)
	}
	if t.Certificate = nil; !isLoopback(host) {
		pair, err := certificate(filepath.Join(data, "server"), false)
		if err != nil {
			return t, nil, err
		}
		t.Certificate = pair.Certificate[0]
		config = &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{pair}}
	}
	return t, config, nil
}

// Publish writes the token file of a server that listens at an address, and returns its path. advertise is the host:port for
// others, or a host alone; if it is empty, the addresses of this machine are.
func (t *Token) Publish(data, listening, advertise string) (path string, err error) {
	host, port, err := net.SplitHostPort(listening)
	if err != nil {
		return "", fmt.Errorf("listen address %q: %w", listening, err)
	}
	t.Servers, path = addresses(host, port, advertise), tokenPath(data)
	return path, t.Save(path)
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// addresses returns the host:port pairs under which others reach a listener.
func addresses(host, port, advertise string) []string {
	if advertise != "" {
		if _, _, err := net.SplitHostPort(advertise); err == nil {
			return []string{advertise}
		}
		return []string{net.JoinHostPort(advertise, port)}
	}
	if ip := net.ParseIP(host); host != "" && (ip == nil || !ip.IsUnspecified()) {
		return []string{net.JoinHostPort(host, port)}
	}
	found := defaultRoutes()
	var last []string // bridges of containers
	interfaces, _ := net.Interfaces()
	for _, i := range interfaces {
		if i.Flags&net.FlagUp == 0 || i.Flags&net.FlagLoopback != 0 {
			continue
		}
		addresses, _ := i.Addrs()
		for _, a := range addresses {
			network, ok := a.(*net.IPNet)
			if !ok || network.IP.IsLinkLocalUnicast() {
				continue
			}
			if isBridge(i.Name) {
				last = append(last, network.IP.String())
			} else {
				found = append(found, network.IP.String())
			}
		}
	}
	found = append(append(found, last...), "127.0.0.1")
	var pairs []string
	for _, ip := range found {
		if pair := net.JoinHostPort(ip, port); !slices.Contains(pairs, pair) {
			pairs = append(pairs, pair)
		}
	}
	return pairs
}

// isBridge reports whether an interface has the name of a bridge of containers or virtual machines.
func isBridge(name string) bool {
	return slices.ContainsFunc([]string{"docker", "br-", "veth", "cni", "virbr", "podman", "flannel", "cali"}, func(prefix string) bool {
		return strings.HasPrefix(name, prefix)
	})
}

// defaultRoutes returns the addresses of this machine from which it reaches others by its default routes. It sends nothing.
func defaultRoutes() (found []string) {
	for network, elsewhere := range map[string]string{"udp4": "192.0.2.1:9", "udp6": "[2001:db8::1]:9"} { // for documentation, RFC 5737 and 3849
		if c, err := net.Dial(network, elsewhere); err == nil {
			found = append(found, c.LocalAddr().(*net.UDPAddr).IP.String())
			_ = c.Close()
		}
	}
	slices.SortFunc(found, func(a, b string) int { return strings.Count(a, ":") - strings.Count(b, ":") }) // IPv4 first
	return found
}

// certificate returns the certificate of a folder and its key. It makes them if there are none, or with renew. Clients pin
// it, so that names and dates in it do not matter.
func certificate(dir string, renew bool) (tls.Certificate, error) {
	certPath, keyPath := filepath.Join(dir, certificateFile), filepath.Join(dir, keyFile)
	there, err := exists(certPath)
	if err != nil {
		return tls.Certificate{}, err
	}
	if !there || renew {
		if err := makeCertificate(dir, certPath, keyPath); err != nil {
			return tls.Certificate{}, err
		}
	}
	pair, err := tls.LoadX509KeyPair(certPath, keyPath)
	if err != nil {
		return pair, fmt.Errorf("the server's certificate in %s: %w: remove both files to make new ones", dir, err)
	}
	return pair, nil
}

func makeCertificate(dir, certPath, keyPath string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return err
	}
	template := x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "nqueens"}, DNSNames: []string{"nqueens"},
		NotBefore: time.Now().Add(-24 * time.Hour), NotAfter: time.Now().AddDate(30, 0, 0),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, &template, &template, &key.PublicKey, key)
	if err != nil {
		return err
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	// The certificate comes last: where it is, the key is.
	if err := durable.Write(keyPath, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}), 0o600); err != nil {
		return err
	}
	return durable.Write(certPath, pem.EncodeToMemory(&pem.Block{Type: certificateType, Bytes: der}), 0o644)
}
