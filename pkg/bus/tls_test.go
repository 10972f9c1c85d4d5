package bus_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"math/big"
	"net"
	"strconv"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/rs/zerolog"

	"nqueens/pkg/bus"
	"nqueens/pkg/run"
	"nqueens/pkg/testkit"
)

// certificate returns a certificate for 127.0.0.1 that is its own authority, valid until that time.
func certificate(t *testing.T, until time.Time, ips ...net.IP) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-48 * time.Hour), NotAfter: until, IPAddresses: ips,
		IsCA: true, BasicConstraintsValid: true, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(parsed)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: parsed}, pool
}

// A certificate that is not valid ends a connection with the reason, also one that waits for its server.
func TestCertificatesAreChecked(t *testing.T) {
	t.Parallel()
	local, tomorrow, yesterday := net.IPv4(127, 0, 0, 1), time.Now().Add(24*time.Hour), time.Now().Add(-24*time.Hour)
	valid, authority := certificate(t, tomorrow, local)
	expired, ofExpired := certificate(t, yesterday, local)
	elsewhere, ofElsewhere := certificate(t, tomorrow, net.IPv4(192, 0, 2, 1))
	for name, test := range map[string]struct {
		server  tls.Certificate
		clients *x509.CertPool // that the server accepts
		client  *tls.Config
		says    string // empty: connects
	}{
		"valid":               {valid, nil, &tls.Config{RootCAs: authority}, ""},
		"other authority":     {valid, nil, &tls.Config{RootCAs: ofElsewhere}, "--tls-ca must name the authority"},
		"expired":             {expired, nil, &tls.Config{RootCAs: ofExpired}, "has expired"},
		"of another address":  {elsewhere, nil, &tls.Config{RootCAs: ofElsewhere}, "--host makes a certificate"},
		"of the client":       {valid, authority, &tls.Config{RootCAs: authority, Certificates: []tls.Certificate{valid}}, ""},
		"client without":      {valid, authority, &tls.Config{RootCAs: authority}, "--tls-cert"},
		"client with another": {valid, authority, &tls.Config{RootCAs: authority, Certificates: []tls.Certificate{elsewhere}}, "--tls-cert"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := &tls.Config{Certificates: []tls.Certificate{test.server}, MinVersion: tls.VersionTLS12}
			if test.clients != nil {
				config.ClientCAs, config.ClientAuth = test.clients, tls.RequireAndVerifyClientCert
			}
			s := startServer(t, &server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true, TLSConfig: config, TLSTimeout: 60})
			for _, wait := range []bool{false, true} {
				b, err := bus.Connect(bus.Config{
					URL: "tls://" + s.Addr().String(), Wait: wait, Log: zerolog.Nop(), Credentials: bus.Credentials{TLS: test.client},
				})
				if err == nil && test.says != "" {
					err = b.WaitClosed(t.Context())
				}
				if b != nil {
					b.Close()
				}
				if test.says == "" && err != nil || test.says != "" && !errors.Is(err, run.ErrNoConnection) {
					t.Errorf("%s, waiting %v: error %v", name, wait, err)
				}
				if test.says != "" {
					says(t, name, err, test.says)
				}
			}
		})
	}
}

// A client that waits for its server, and is refused when there is one, does not wait any longer.
func TestWaitEndsWithARefusal(t *testing.T) {
	t.Parallel()
	valid, authority := certificate(t, time.Now().Add(24*time.Hour), net.IPv4(127, 0, 0, 1))
	address := testkit.Address(t)
	b, err := bus.Connect(bus.Config{URL: "tls://" + address, Wait: true, Log: zerolog.Nop(), Credentials: bus.Credentials{
		TLS: &tls.Config{RootCAs: authority},
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	_, text, _ := net.SplitHostPort(address)
	port, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	startServer(t, &server.Options{Host: "127.0.0.1", Port: port, NoSigs: true, TLSTimeout: 60, TLSConfig: &tls.Config{
		Certificates: []tls.Certificate{valid}, MinVersion: tls.VersionTLS12, ClientCAs: authority, ClientAuth: tls.RequireAndVerifyClientCert,
	}})
	err = b.WaitClosed(within(t, testkit.Stall))
	if !errors.Is(err, run.ErrNoConnection) {
		t.Errorf("error %v, want %v", err, run.ErrNoConnection)
	}
	says(t, "a client without a certificate", err, "--tls-cert")
}
