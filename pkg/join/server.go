package join

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"time"

	"nqueens/pkg/durable"
	"nqueens/pkg/queens"
)

// Listening returns what the embedded server of a data folder needs to accept workers from other
// machines: a password and a certificate. The first call makes them, and later calls read them. A
// server that listens on loopback uses no TLS.
func Listening(data, listen string) (t Token, config *tls.Config, err error) {
	path, _ := Own(data)
	// a damaged token stays: workers elsewhere may have a good copy
	if t, err = loadOrMake(path, queens.WorkerUser, false); err != nil {
		return t, nil, err
	}
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		return t, nil, fmt.Errorf("listen address %q: %w", listen, err)
	}
	t.Certificate = nil
	if host != "localhost" && !net.ParseIP(host).IsLoopback() {
		pair, err := certificate(filepath.Join(data, "server"), false)
		if err != nil {
			return t, nil, err
		}
		t.Certificate = pair.Certificate[0]
		config = &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{pair}}
	}
	return t, config, nil
}

// Publish writes the token file of the embedded server of a data folder, and returns its path. The
// addresses are those at which workers reach the server. The tokens of invited users get these
// addresses and the certificate too.
func (t *Token) Publish(data string, addresses []string) (path string, err error) {
	path, _ = Own(data)
	t.Servers = addresses
	if err := t.Save(path); err != nil {
		return path, err
	}
	invitations, err := Invitations(filepath.Dir(path))
	for _, i := range invitations {
		if i.Removed {
			continue
		}
		invited, failed := Load(i.Path)
		if failed == nil {
			invited.Servers, invited.Certificate = t.Servers, t.Certificate
			failed = invited.Save(i.Path)
		}
		err = errors.Join(err, failed)
	}
	return path, err
}

// certificateFile is the name of the file with the server's certificate and private key. Clients
// never read that file.
const certificateFile = "server.pem"

// certificate returns the certificate and private key of a folder. It makes them if there are none,
// or if renew is set.
func certificate(dir string, renew bool) (tls.Certificate, error) {
	path := filepath.Join(dir, certificateFile)
	pair, err := tls.LoadX509KeyPair(path, path)
	if renew || errors.Is(err, fs.ErrNotExist) {
		if err = makeCertificate(path); err == nil {
			pair, err = tls.LoadX509KeyPair(path, path)
		}
	}
	if err != nil {
		return pair, fmt.Errorf("the server's certificate %s: %w: without that file, a new one is made",
			path, err)
	}
	return pair, nil
}

// makeCertificate writes a new certificate and its private key. Clients pin the certificate, so its
// names and dates do not matter.
func makeCertificate(path string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	template := x509.Certificate{
		DNSNames:  []string{"nqueens"},
		NotBefore: time.Now().Add(-24 * time.Hour), NotAfter: time.Now().AddDate(30, 0, 0),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, &template, &template, &key.PublicKey, key)
	if err != nil {
		return err
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	text = append(text, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})...)
	return durable.Write(path, text)
}
