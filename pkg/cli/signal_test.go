package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/spf13/cobra"

	"nqueens/pkg/testkit"
)

// childMode is the environment variable that selects what this test binary does as a child.
const childMode = "CLI_TEST_CHILD"

// child prints ready, waits for its context to end and prints the signal. Then, by mode:
// obey ends with the cause as its error, drain without an error, and ignore continues. linger
// prints the signal and continues when Main has returned.
func child(mode string) int {
	ended := func(cause error) {
		var signal Signal
		fmt.Println("ended:", errors.As(cause, &signal), int(signal.Number))
	}
	var cause error
	root := &cobra.Command{Use: "child", RunE: func(cmd *cobra.Command, _ []string) error {
		fmt.Println("ready")
		<-cmd.Context().Done()
		cause = context.Cause(cmd.Context())
		if mode == "linger" {
			return nil
		}
		ended(cause)
		switch mode {
		case "obey":
			return fmt.Errorf("wait: %w", cause)
		case "drain":
			return nil
		}
		awaitParent()
		return errors.New("nothing ended the program")
	}}
	code := New(root).Main()
	if mode == "linger" {
		ended(cause)
		awaitParent()
	}
	return code
}

// awaitParent returns when the test closes the child's stdin, or has ended.
func awaitParent() { _, _ = io.Copy(io.Discard, os.Stdin) }

// The first interrupt or SIGTERM ends the context with the signal as its cause; as the error
// of the program, it means exit code 130 or 143. The second ends the process at once.
func TestSignals(t *testing.T) {
	const interrupt, terminate = syscall.SIGINT, syscall.SIGTERM
	for _, c := range []struct {
		mode    string
		signals []syscall.Signal
		want    int
	}{
		{"obey", []syscall.Signal{interrupt}, 130},
		{"obey", []syscall.Signal{terminate}, 143},
		{"drain", []syscall.Signal{interrupt}, 0},
		{"drain", []syscall.Signal{terminate}, 0},
		{"ignore", []syscall.Signal{interrupt, interrupt}, 130},
		{"ignore", []syscall.Signal{terminate, terminate}, 143},
		{"ignore", []syscall.Signal{interrupt, terminate}, 143},
		{"ignore", []syscall.Signal{terminate, interrupt}, 130},
		{"linger", []syscall.Signal{interrupt, interrupt}, 130},
	} {
		t.Run(fmt.Sprintf("%s %v", c.mode, c.signals), func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), testkit.Stall)
			defer cancel()
			program := exec.CommandContext(ctx, os.Args[0])
			program.Env = append(os.Environ(), childMode+"="+c.mode)
			var stderr strings.Builder
			program.Stderr = &stderr
			stdin, err := program.StdinPipe() // it is open while the program runs
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = stdin.Close() }()
			stdout, err := program.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := program.Start(); err != nil {
				t.Fatal(err)
			}
			// After each line that it says it gets the next signal, if there is one.
			signals := c.signals
			want := []string{"ready", fmt.Sprintf("ended: true %d", int(c.signals[0]))}
			var says []string
			for lines := bufio.NewScanner(stdout); lines.Scan(); {
				says = append(says, lines.Text())
				if len(signals) == 0 {
					continue
				}
				if err := program.Process.Signal(signals[0]); err != nil {
					t.Error(err)
				}
				signals = signals[1:]
			}
			if !slices.Equal(says, want) {
				t.Errorf("the program says %q, want %q", says, want)
			}
			err = program.Wait()
			if got := program.ProcessState.ExitCode(); got != c.want {
				t.Errorf("exit %d (%v), want %d; stderr %q", got, err, c.want, &stderr)
			}
			// It is no error: the person asked for it.
			told := regexp.MustCompile(`^{"level":"warn","exit":1\d\d,.*"message":"wait: (interrupted|terminated)"}\n$`).MatchString(stderr.String())
			if told != (c.mode == "obey") {
				t.Errorf("stderr has %q", &stderr)
			}
		})
	}
}

// When the program ends by itself, its context ends without a signal as its cause.
func TestNoSignal(t *testing.T) {
	ctx, _, stop := withSignals(t.Context())
	if ctx.Err() != nil {
		t.Errorf("the context ends before anything: %v", context.Cause(ctx))
	}
	stop()
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
		t.Errorf("the context ends with %v", cause)
	}
}
