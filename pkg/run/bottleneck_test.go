package run

import "testing"

func TestPhrase(t *testing.T) {
	for b, want := range map[Bottleneck]string{
		"": "", BySearch: "", ByLedger: "bounded by the ledger", ByTail: "bounded by the tail", ByMessages: "bounded by messages", ByWindow: "bounded by the window",
	} {
		if got := b.Phrase(); got != want {
			t.Errorf("%q: %q, want %q", b, got, want)
		}
	}
}
