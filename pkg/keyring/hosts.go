package keyring

import (
	"crypto/ecdsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"
	"slices"
)

// AddHosts makes a new certificate for the server if that of the ring is not valid for one of the
// names or addresses; it stays valid for those that it had. It reports whether it has made one: the
// server must read its configuration again then. The certificate is of the same key, so the two always
// belong together, even if several processes call it at once or one is killed.
func (r *Ring) AddHosts(hosts []string) (bool, error) {
	old, err := readCertificate(r.path(serverDir, certFile))
	if err != nil {
		return false, err
	}
	if !slices.ContainsFunc(hosts, func(host string) bool { return old.VerifyHostname(host) != nil }) {
		return false, nil
	}
	ca, err := readCertificate(r.path(caFile))
	if err != nil {
		return false, err
	}
	caKey, err := readKey(r.path(caKeyFile))
	if err != nil {
		return false, fmt.Errorf("a certificate for other names of the server needs the key of the authority: %w", err)
	}
	key, err := readKey(r.path(serverDir, certKey))
	if err != nil {
		return false, err
	}
	err = r.putServerCertificate(key, ca, caKey, append(hostsOf(old), hosts...))
	return err == nil, err
}

// hostsOf returns the names and addresses for which a certificate is valid.
func hostsOf(cert *x509.Certificate) []string {
	hosts := slices.Clone(cert.DNSNames)
	for _, ip := range cert.IPAddresses {
		hosts = append(hosts, ip.String())
	}
	return hosts
}

func readCertificate(path string) (*x509.Certificate, error) {
	der, err := readPEM(path)
	if err != nil {
		return nil, err
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("keys: %s: %w", path, err)
	}
	return cert, nil
}

func readKey(path string) (*ecdsa.PrivateKey, error) {
	der, err := readPEM(path)
	if err != nil {
		return nil, err
	}
	key, err := x509.ParsePKCS8PrivateKey(der)
	if err != nil {
		return nil, fmt.Errorf("keys: %s: %w", path, err)
	}
	private, ok := key.(*ecdsa.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("keys: %s holds no ECDSA key", path)
	}
	return private, nil
}

// readPEM returns the first block of a PEM file.
func readPEM(path string) ([]byte, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("keys: %w", err)
	}
	block, _ := pem.Decode(data)
	if block == nil {
		return nil, fmt.Errorf("keys: %s is no PEM file", path)
	}
	return block.Bytes, nil
}
