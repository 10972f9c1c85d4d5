package session

import "testing"

// Other processes learn all addresses of a cluster, and no password.
func TestPublicURL(t *testing.T) {
	for _, c := range []struct{ urls, address, want string }{
		{"nats://127.0.0.1:4222", "nats://127.0.0.1:4222", "nats://127.0.0.1:4222"},
		{"nats://me:secret@a:4222, b,tls://token@c:1", "nats://***@a:4222", "nats://a:4222,nats://b:4222,tls://c:1"},
		{"", "nats://127.0.0.1:1234", "nats://127.0.0.1:1234"},
		{"", embedded, ""},
	} {
		if got := (&connection{urls: c.urls, address: c.address}).publicURL(); got != c.want {
			t.Errorf("the public URL of %q is %q, want %q", c.urls, got, c.want)
		}
	}
}
