package notify

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// target is a line of a file of targets: the address of a webhook, or a command.
type target struct {
	text string
	line int // from 1
}

// Check returns an error unless a file has targets: one a line, an address that begins with http:// or https://, or
// a command for the shell. Empty lines and those that begin with # are none. The error does not quote the file.
func Check(path string) error {
	_, err := readTargets(path)
	return err
}

func readTargets(path string) (targets []target, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	number := 0
	for line := range strings.Lines(string(text)) {
		number++
		t := target{strings.TrimSpace(line), number}
		if t.text == "" || strings.HasPrefix(t.text, "#") {
			continue
		}
		if u, err := url.Parse(t.text); t.isWebhook() && (err != nil || u.Hostname() == "") {
			return nil, fmt.Errorf("%s: line %d is not the address of a webhook", path, number)
		}
		targets = append(targets, t)
	}
	if len(targets) == 0 {
		return nil, fmt.Errorf("%s has no address of a webhook and no command", path)
	}
	return targets, nil
}

func (t *target) isWebhook() bool {
	return strings.HasPrefix(t.text, "https://") || strings.HasPrefix(t.text, "http://")
}

// key tells a target from others, and not what it is.
func (t *target) key() string {
	sum := sha256.Sum256([]byte(t.text))
	return hex.EncodeToString(sum[:8])
}

// send gives an event to the target. The error does not say what the target is.
func (t *target) send(ctx context.Context, e *Event) error {
	text, err := json.Marshal(e)
	if err != nil {
		return err
	}
	if t.isWebhook() {
		return post(ctx, t.text, text)
	}
	return execute(ctx, t.text, append(text, '\n'))
}

const (
	webhookTimeout = 10 * time.Second
	commandTimeout = 30 * time.Second
)

// client follows no redirection: that would give the event to another address.
var client = &http.Client{
	Timeout:       webhookTimeout,
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// post sends JSON to a webhook. Any answer from 200 to 299 accepts it.
func post(ctx context.Context, address string, text []byte) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(text))
	if err != nil {
		return errors.New("the address of the webhook can't be used")
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", "nqueens")
	answer, err := client.Do(request)
	if err != nil {
		return withoutAddress(err)
	}
	_, _ = io.CopyN(io.Discard, answer.Body, 1<<16) // for the connection to be used again
	_ = answer.Body.Close()
	if answer.StatusCode < 200 || answer.StatusCode > 299 {
		return fmt.Errorf("the webhook answers with status %d", answer.StatusCode)
	}
	return nil
}

// withoutAddress returns what an error of a request says, without the address, which may be a secret.
func withoutAddress(err error) error {
	var timeout net.Error
	var name *net.DNSError
	var certificate *tls.CertificateVerificationError
	var number syscall.Errno
	switch {
	case errors.Is(err, context.Canceled):
		return context.Canceled
	case errors.As(err, &timeout) && timeout.Timeout():
		return errors.New("the webhook does not answer in time")
	case errors.As(err, &name):
		return errors.New("the host of the webhook is not known")
	case errors.As(err, &certificate):
		return errors.New("the certificate of the webhook's server is not trusted")
	case errors.As(err, &number):
		return fmt.Errorf("the webhook can't be reached: %w", number)
	}
	return errors.New("the webhook can't be reached")
}

// execute runs a command of the shell with JSON on its standard input; what it prints is discarded. The command is not
// in the arguments of the shell, which every user of the machine can see.
func execute(ctx context.Context, command string, text []byte) error {
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", `eval "$NQUEENS_NOTIFY"`)
	if runtime.GOOS == "windows" {
		cmd = exec.CommandContext(ctx, "cmd", "/C", "%NQUEENS_NOTIFY%")
	}
	cmd.Env = append(os.Environ(), "NQUEENS_NOTIFY="+command)
	cmd.Stdin = bytes.NewReader(text)
	cmd.WaitDelay = time.Second // a process that it has started may keep its standard input
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("the command did not end: %w", ctx.Err())
	case errors.As(err, &exit):
		return fmt.Errorf("the command ended with %v", exit.ProcessState)
	}
	return errors.New("the command can't be started")
}
