package cli

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"golang.org/x/term"

	"nqueens/pkg/identity"
)

// stdin stands for standard input in place of a file.
const stdin = "-"

// pasted returns the token that comes through standard input: what its file holds. A person at a terminal
// pastes it, and the terminal does not show it; there it ends with the certificate, or with an empty line.
func pasted(in *os.File, prompt io.Writer) (identity.Token, error) {
	fd := int(in.Fd())
	if !term.IsTerminal(fd) {
		text, err := io.ReadAll(io.LimitReader(in, identity.MaxTokenFile+1))
		if err != nil {
			return identity.Token{}, err
		}
		return identity.ParseToken(text)
	}
	shown, err := term.GetState(fd)
	if err != nil {
		return identity.Token{}, err
	}
	defer exitOnSignal(func() { _ = term.Restore(fd, shown) })()
	_, _ = fmt.Fprint(prompt, "Paste the token with its certificate (it is not shown), and press Enter: ") // or nobody sees it
	var text []byte
	for len(text) <= identity.MaxTokenFile {
		line, err := term.ReadPassword(fd)
		if err != nil && len(text) == 0 {
			return identity.Token{}, err
		}
		text = slices.Concat(text, line, []byte("\n"))
		if err != nil || len(line) == 0 || bytes.HasPrefix(line, []byte("-----END ")) {
			break
		}
	}
	_, _ = fmt.Fprintln(prompt)
	return identity.ParseToken(text)
}

// exitOnSignal has the first signal end the process, after a clean-up, until stop is called.
func exitOnSignal(clean func()) (stop func()) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		if number, open := <-signals; open {
			clean()
			os.Exit(exitSignal + int(number.(syscall.Signal)))
		}
	}()
	return func() {
		signal.Stop(signals)
		close(signals)
	}
}
