package bus

import (
	"testing"

	"nqueens/pkg/identity"
	"nqueens/pkg/identity/identitytest"
	"nqueens/pkg/run"
)

// A login signs the nonce of a server, and nothing that the key signs elsewhere.
func TestLoginSignsNoResult(t *testing.T) {
	id := identitytest.Of("w")
	c := Config{Credentials: Credentials{Identity: id}}
	nonce := []byte("q5HcK4d2Yp0Xw7g")
	signature, err := c.signNonce(nonce)
	if err != nil || identity.Verify(id.Key(), nonce, signature) != nil {
		t.Errorf("the signature of a nonce: %x, %v", signature, err)
	}
	for what, text := range map[string][]byte{"result": new(run.ChunkResult).Statement(), "heartbeat": signedHeartbeat(nil)} {
		if _, err := c.signNonce(text); err == nil {
			t.Errorf("a login signs a %s", what)
		}
	}
}
