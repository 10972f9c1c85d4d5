package run

import "testing"

func TestBound(t *testing.T) {
	for b, valid := range map[Bottleneck]bool{
		"": true, ByLedger: true, "later": true, "Ledger": false, "the ledger": false, "\x1b": false, "aaaaaaaaaaaaaaaaa": false,
	} {
		if err := b.Validate(); (err == nil) != valid {
			t.Errorf("%q: %v", b, err)
		}
	}
	for b, want := range map[Bottleneck]string{
		"": "", BySearch: "", ByLedger: "bounded by the ledger", ByTail: "bounded by the tail", ByMessages: "bounded by messages", ByWindow: "bounded by the window",
	} {
		if got := b.Phrase(); got != want {
			t.Errorf("%q: %q, want %q", b, got, want)
		}
	}
}
