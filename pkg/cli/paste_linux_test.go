package cli

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"nqueens/pkg/cli/clitest"
	"nqueens/pkg/identity"
)

// A token that is pasted at a terminal ends with its certificate, or with an empty line, and is not shown.
func TestPastedAtATerminal(t *testing.T) {
	certificate, _ := selfSigned(t)
	for _, token := range []identity.Token{{Secret: strings.Repeat("x", 20), Authority: []byte(certificate)}, identity.NewToken()} {
		emulator, terminal := clitest.Terminal(t, 80, 24)
		text := string(token.Text())
		if token.Authority == nil {
			text += "\n"
		}
		var prompt signalWriter
		prompt.written = func() {
			if _, err := emulator.WriteString(text); err != nil {
				t.Error(err)
			}
		}
		got, err := pasted(terminal, &prompt)
		if err != nil || got.Secret != token.Secret || !bytes.Equal(got.Authority, token.Authority) {
			t.Errorf("pasted is %+v, error %v", got, err)
		}
		if err := terminal.Close(); err != nil {
			t.Error(err)
		}
	}
}

// signalWriter calls written once something is written.
type signalWriter struct {
	written func()
	done    bool
}

func (w *signalWriter) Write(p []byte) (int, error) {
	if !w.done {
		w.done = true
		w.written()
	}
	return len(p), nil
}

// A token comes through a pipe as its file has it, and not without end.
func TestPastedThroughAPipe(t *testing.T) {
	token := identity.NewToken()
	for text, valid := range map[string]bool{string(token.Text()): true, "": false, strings.Repeat("x", identity.MaxTokenFile+2): false} {
		in, out, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			_, _ = out.WriteString(text) // fails when nobody reads the rest
			_ = out.Close()
		}()
		got, err := pasted(in, nil)
		if (err == nil) != valid || valid && got.Secret != token.Secret {
			t.Errorf("%d bytes: %+v, error %v", len(text), got, err)
		}
		_ = in.Close()
	}
}
