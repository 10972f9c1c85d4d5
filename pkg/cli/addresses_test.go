package cli

import (
	"errors"
	"strings"
	"testing"

	"github.com/rs/zerolog"
)

// An address to listen on is host:port with a valid port. The host may be empty.
func TestCheckAddress(t *testing.T) {
	for _, address := range []string{"", ":8080", "127.0.0.1:8080", "[::1]:8080", "host:0", "localhost:65535", "[fe80::1%eth0]:80"} {
		if err := CheckAddress("listen", address, "127.0.0.1:4222"); err != nil {
			t.Errorf("%q: %v", address, err)
		}
	}
	for _, address := range []string{
		"8080", "localhost", "http://localhost:8080", "a:b:c", "::1:80", "host:", "host:http", "host:-1", "host:65536",
		"host:99999", "host:0x50", "host: 80", "a host:80", " host:80", "nats://host:80", "me@host:80", "host:80\n", "\n:80", ":80:",
	} {
		err := CheckAddress("listen", address, "127.0.0.1:4222")
		if !errors.As(err, new(usageError)) || strings.Contains(err.Error(), "\n") ||
			!strings.HasPrefix(err.Error(), "--listen must be host:port, such as 127.0.0.1:4222, with a port from 0 to 65535, not ") {
			t.Errorf("%q: %v, want a usage error that says what is right", address, err)
		}
	}
}

// --nats takes one URL or several. The scheme may be missing.
func TestConnectionCheck(t *testing.T) {
	for _, urls := range []string{
		"", "nats://127.0.0.1:4222", "127.0.0.1:4222", "localhost", "nats://host", "tls://host:4222", "ws://host:80", "wss://host",
		"nats://[::1]:4222", "nats://me:secret@host:4222", "nats://token@host", "nats://a:1,nats://b:2", "a:1, b:2", "nats://host:4222/", "wss://host/nats", " nats://host:4222\n",
	} {
		if err := (&Connection{URL: urls}).Check(zerolog.Nop()); err != nil {
			t.Errorf("%q: %v", urls, err)
		}
	}
	for _, urls := range []string{
		"nats://", "://", "nats://:4222", ":4222", "nats://host:", "host:what", "nats://host:99999", "nats://host:0", "nats://host:-1",
		"http://host:4222", "nat://host", "two words", "nats://two words", ",", "a,", ",a", "a,,b", "%zz", "nats//host:4222",
		"nats://a:1,nats://b:what", "nats://me:secret@host:what", "nats://me:secret@", "me:secret@ho st",
		"nats://me:12/secret@host", "ws://me:12/secret@host", "ws://me@x/secret@host", "nats://me:12?secret@host", "nats://me:12#secret@host",
		"wss://host/?token=x",
	} {
		err := (&Connection{URL: urls}).Check(zerolog.Nop())
		if !errors.As(err, new(usageError)) || strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "\n") ||
			!strings.HasPrefix(err.Error(), "--nats must be the URL of a server, such as nats://127.0.0.1:4222, or several, separated by commas, not ") {
			t.Errorf("%q: %v, want a usage error that says what is right", urls, err)
		}
	}
}
