package cli

import (
	"os/exec"
	"slices"
	"testing"

	"github.com/spf13/pflag"
)

// A shell takes quoted words for what they are.
func TestQuote(t *testing.T) {
	t.Parallel()
	words := []string{"plain", "--flag", "a b", "", "it's", `"quoted" \ back`, "$HOME", "`date`", "~", "*", "a\nb", "#", "!x", "nats://a:4222,nats://b:4222", "é"}
	got, err := exec.CommandContext(t.Context(), "sh", "-c", "printf '%s\\0' "+Quote(words...)).Output()
	want := ""
	for _, word := range words {
		want += word + "\x00"
	}
	if err != nil || string(got) != want {
		t.Errorf("sh takes %s for %q (%v)", Quote(words...), got, err)
	}
	if got := Quote("bin/coordinator", "resume", "n8-a", "--data", "/runs"); got != "bin/coordinator resume n8-a --data /runs" {
		t.Errorf("plain words are quoted: %s", got)
	}
}

// The program is started again with the word with which it was started, or by go run.
func TestProgram(t *testing.T) {
	t.Parallel()
	for path, want := range map[string][]string{
		"coordinator":                           {"coordinator"},
		"bin/coordinator":                       {"bin/coordinator"},
		"/opt/a b/nqueens-coordinator":          {"/opt/a b/nqueens-coordinator"},
		"/tmp/go-build123/b001/exe/coordinator": {"go", "run", "./coordinator"},
	} {
		if got := programWords(path); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}

// A flag that needs no value gets none, or one with an equals sign.
func TestFlagWords(t *testing.T) {
	t.Parallel()
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	flags.Bool("unique", false, "")
	flags.String("data", "", "")
	for _, c := range []struct {
		flag, value string
		want        []string
	}{{"unique", "true", []string{"--unique"}}, {"unique", "false", []string{"--unique=false"}}, {"data", "-d", []string{"--data", "-d"}}} {
		if got := FlagWords(flags.Lookup(c.flag), c.value); !slices.Equal(got, c.want) || flags.Parse(got) != nil || flags.Lookup(c.flag).Value.String() != c.value {
			t.Errorf("%s %s: %q, want %q", c.flag, c.value, got, c.want)
		}
	}
}
