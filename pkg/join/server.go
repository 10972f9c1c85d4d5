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
)

// Listening makes or reads what the embedded server of a data folder needs to let others in, and writes the token file
// data/join/join.token with the addresses of now. Password and certificate are made once. With a loopback address there is no
// TLS. advertise is the host:port for the token file, or a host alone; if it is empty, the addresses of this machine are.
func Listening(data, listen, advertise string) (t Token, config *tls.Config, path string, err error) {
	path, _ = Own(data)
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return t, nil, path, fmt.Errorf("listen address %q: %w", listen, err)
	}
	if t, err = loadOrMake(path, Worker, false); err != nil { // workers elsewhere may have the right one
		return t, nil, path, err
	}
	t.Servers, t.Certificate = addresses(host, port, advertise), nil
	if ip := net.ParseIP(host); host != "localhost" && !ip.IsLoopback() {
		pair, err := certificate(filepath.Join(data, "server"), false)
		if err != nil {
			return t, nil, path, err
		}
		t.Certificate = pair.Certificate[0]
		config = &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{pair}}
	}
	return t, config, path, t.Save(path)
}

// certificateFile has the certificate of a server and its key, in a folder that only the server reads.
const certificateFile = "server.pem"

// certificate returns the certificate of a folder and its key. It makes them if there are none, or with renew.
func certificate(dir string, renew bool) (tls.Certificate, error) {
	path := filepath.Join(dir, certificateFile)
	pair, err := tls.LoadX509KeyPair(path, path)
	if renew || errors.Is(err, fs.ErrNotExist) {
		if err = makeCertificate(path); err == nil {
			pair, err = tls.LoadX509KeyPair(path, path)
		}
	}
	if err != nil {
		return pair, fmt.Errorf("the server's certificate %s: %w: without that file, a new one is made", path, err)
	}
	return pair, nil
}

// makeCertificate writes a new certificate with its key. Clients pin it, so that names and dates in it do not matter.
func makeCertificate(path string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	template := x509.Certificate{
		DNSNames:  []string{"nqueens"},
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
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	text := append(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})...)
	return durable.Write(path, text, 0o600)
}
