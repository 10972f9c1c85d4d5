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
	"slices"
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

// serversFolder is below the folder of the token. It has a token file for each embedded server that
// runs: its name is the port at which the server listens.
const serversFolder = "servers"

// Publish says that an embedded server of a data folder runs. It listens at a host:port, and
// workers reach it at the addresses. Publish writes the token file of [Own], and returns its path.
// [Running] returns a copy of this token until [Unpublish]. The tokens of invited users get these
// addresses and the certificate too.
func (t *Token) Publish(data, listen string, addresses []string) (path string, err error) {
	t.Servers = addresses
	if err := t.Save(runningFile(data, listen)); err != nil {
		return "", err
	}
	return t.share(data)
}

// share writes the token file of [Own], and gives the tokens of invited users the same server. It
// returns the path of the file.
func (t *Token) share(data string) (path string, err error) {
	path, _ = Own(data)
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

// Unpublish says that the embedded server that listens at a host:port no longer runs. If the token
// file of [Own] has its addresses, the file gets those of the newest server that still runs.
func Unpublish(data, listen string) error {
	file := runningFile(data, listen)
	ended, err := Load(file)
	if err != nil {
		return err
	}
	if err := os.Remove(file); err != nil {
		return err
	}
	path, _ := Own(data)
	own, err := Load(path)
	running := Running(data)
	if err == nil && len(running) > 0 && slices.Equal(own.Servers, ended.Servers) {
		_, err = running[0].share(data)
	}
	return err
}

// Running returns the tokens of the embedded servers of a data folder that run, the newest first.
// A server whose process was killed is among them.
func Running(data string) (tokens []Token) {
	type server struct {
		Token
		began time.Time
	}
	var servers []server
	files, _ := filesIn(filepath.Dir(runningFile(data, ":0")), "")
	for _, file := range files {
		info, err := os.Stat(file)
		if err != nil {
			continue
		}
		if t, err := Load(file); err == nil {
			servers = append(servers, server{t, info.ModTime()})
		}
	}
	slices.SortStableFunc(servers, func(a, b server) int { return b.began.Compare(a.began) })
	for _, s := range servers {
		tokens = append(tokens, s.Token)
	}
	return tokens
}

// runningFile returns the path of the token file of an embedded server that listens at a host:port.
func runningFile(data, listen string) string {
	path, _ := Own(data)
	_, port, _ := net.SplitHostPort(listen) // a server that listens has one
	return filepath.Join(filepath.Dir(path), serversFolder, port)
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
