package identity

import (
	"crypto/hmac"
	"crypto/sha256"
)

// Admission returns the proof that the owner of a public key knows the join token, 32 bytes:
// HMAC-SHA256 under the token of "nqueens admit " and the key. It says nothing of the token.
func Admission(token []byte, key string) []byte {
	mac := hmac.New(sha256.New, token)
	mac.Write([]byte("nqueens admit " + key))
	return mac.Sum(nil)
}

// IsAdmitted reports whether a proof is the [Admission] of a key. An empty token admits no key. The
// time that it takes tells nothing of the right proof.
func IsAdmitted(token []byte, key string, proof []byte) bool {
	return len(token) > 0 && hmac.Equal(proof, Admission(token, key))
}
