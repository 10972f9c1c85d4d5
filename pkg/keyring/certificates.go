package keyring

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"net"
	"os"
	"regexp"
	"slices"
	"time"
)

// validity is how long certificates are valid. They are made once for a cluster, which may outlive
// any run.
const validity = 10 * 365 * 24 * time.Hour

// AddHosts makes a new certificate for the server if that of the ring is not valid for one of the
// names or addresses; it stays valid for those that it had. It reports whether it has made one: the
// server must read its configuration again then. The certificate is of the same key, so the two always
// belong together, even if several processes call it at once or one is killed.
func (r *Ring) AddHosts(hosts []string) (bool, error) {
	server, err := r.pair(serverDir+"/"+certFile, serverDir+"/"+certKey)
	if err != nil {
		return false, err
	}
	if !slices.ContainsFunc(hosts, func(host string) bool { return server.Leaf.VerifyHostname(host) != nil }) {
		return false, nil
	}
	hosts = append(slices.Clone(server.Leaf.DNSNames), hosts...)
	for _, ip := range server.Leaf.IPAddresses {
		hosts = append(hosts, ip.String())
	}
	err = r.putServerCertificate(server.PrivateKey.(crypto.Signer), hosts)
	return err == nil, err
}

// pair reads a certificate and its key.
func (r *Ring) pair(cert, key string) (tls.Certificate, error) {
	pair, err := tls.LoadX509KeyPair(r.path(cert), r.path(key))
	if err != nil {
		err = fmt.Errorf("keys: the certificate %s with its key %s: %w", r.path(cert), r.path(key), err)
	}
	return pair, err
}

// putNewKey makes a key for certificates.
func (r *Ring) putNewKey(name string, mode os.FileMode) (crypto.Signer, error) {
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

// putAuthority makes the authority: a certificate that signs itself, and its key.
func (r *Ring) putAuthority() error {
	key, err := r.putNewKey(caKeyFile, 0o600)
	if err != nil {
		return err
	}
	ca := template("nqueens authority")
	ca.IsCA, ca.BasicConstraintsValid, ca.KeyUsage = true, true, x509.KeyUsageCertSign
	return r.issue(caFile, ca, key.Public(), ca, key)
}

// putServerCertificate makes a certificate of the server's key, which the authority signs. It is also
// for the other end of routes between the servers of a cluster.
func (r *Ring) putServerCertificate(key crypto.Signer, hosts []string) error {
	ca, err := r.pair(caFile, caKeyFile)
	if err != nil {
		return fmt.Errorf("a certificate for the names of the server needs the authority and its key: %w", err)
	}
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
	return r.issue(serverDir+"/"+certFile, server, key.Public(), ca.Leaf, ca.PrivateKey)
}

// template returns the begin of a certificate, which gets a random serial number.
func template(name string) *x509.Certificate {
	now := time.Now()
	return &x509.Certificate{
		Subject:   pkix.Name{CommonName: name},
		NotBefore: now.Add(-24 * time.Hour), // a clock may be wrong by its time zone
		NotAfter:  now.Add(validity),
	}
}

// issue makes a certificate of a public key, signed by a parent or by itself.
func (r *Ring) issue(name string, cert *x509.Certificate, key crypto.PublicKey, parent *x509.Certificate, parentKey crypto.PrivateKey) error {
	der, err := x509.CreateCertificate(rand.Reader, cert, parent, key, parentKey)
	if err != nil {
		return fmt.Errorf("a new certificate: %w", err)
	}
	return r.put(name, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o644)
}

// allHosts adds to hosts those under which this machine reaches the server.
func allHosts(hosts []string) []string {
	all := append([]string{"localhost", "127.0.0.1", "::1", "nats"}, hosts...)
	if name, err := os.Hostname(); err == nil && name != "" {
		all = append(all, name)
	}
	return all
}

var hostName = regexp.MustCompile(`^[0-9A-Za-z_*]([0-9A-Za-z._-]{0,252})$`)

// IsHost reports whether a text is the name or the IP address of a host.
func IsHost(text string) bool { return net.ParseIP(text) != nil || hostName.MatchString(text) }
