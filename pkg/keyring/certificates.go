package keyring

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"regexp"
	"slices"
	"time"
)

// validity is how long certificates are valid. They are made once for a cluster, which may outlive
// any run.
const validity = 10 * 365 * 24 * time.Hour

// putNewKey makes a key for certificates.
func (r *Ring) putNewKey(name string, mode os.FileMode) (*ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	return key, r.put(name, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), mode)
}

// putNewAuthority makes a certificate of an authority's key.
func (r *Ring) putNewAuthority(key *ecdsa.PrivateKey) (*x509.Certificate, error) {
	ca := template("nqueens authority")
	ca.IsCA, ca.BasicConstraintsValid, ca.KeyUsage = true, true, x509.KeyUsageCertSign
	text, err := issue(ca, key, ca, key)
	if err != nil {
		return nil, err
	}
	if err := r.put(caFile, text, 0o644); err != nil {
		return nil, err
	}
	return readCertificate(r.path(caFile))
}

// putServerCertificate makes a certificate of the server's key, which an authority has signed. It is also
// for the other end of routes between the servers of a cluster.
func (r *Ring) putServerCertificate(key *ecdsa.PrivateKey, ca *x509.Certificate, caKey *ecdsa.PrivateKey, hosts []string) error {
	server := template("nqueens server")
	server.KeyUsage = x509.KeyUsageDigitalSignature
	server.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	slices.Sort(hosts)
	for _, host := range slices.Compact(hosts) {
		if ip := net.ParseIP(host); ip != nil {
			server.IPAddresses = append(server.IPAddresses, ip)
		} else {
			server.DNSNames = append(server.DNSNames, host)
		}
	}
	text, err := issue(server, key, ca, caKey)
	if err != nil {
		return err
	}
	return r.put(serverDir+"/"+certFile, text, 0o644)
}

// allHosts adds to hosts those under which this machine reaches the server.
func allHosts(hosts []string) []string {
	all := append([]string{"localhost", "127.0.0.1", "::1", "nats"}, hosts...)
	if name, err := os.Hostname(); err == nil && name != "" {
		all = append(all, name)
	}
	return all
}

func template(name string) *x509.Certificate {
	serial, _ := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127)) // never fails, see crypto/rand
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: serial.Add(serial, big.NewInt(1)),
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    now.Add(-24 * time.Hour), // a clock may be wrong by its time zone
		NotAfter:     now.Add(validity),
	}
}

// issue makes a certificate of a key, signed by a parent or by itself.
func issue(cert *x509.Certificate, key *ecdsa.PrivateKey, parent *x509.Certificate, parentKey *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.CreateCertificate(rand.Reader, cert, parent, key.Public(), parentKey)
	if err != nil {
		return nil, fmt.Errorf("a new certificate: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), nil
}

var hostName = regexp.MustCompile(`^[0-9A-Za-z_*]([0-9A-Za-z._-]{0,252})$`)

// IsHost reports whether a text is the name or the IP address of a host.
func IsHost(text string) bool { return net.ParseIP(text) != nil || hostName.MatchString(text) }
