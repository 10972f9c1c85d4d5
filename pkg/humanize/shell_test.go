package humanize

import (
	"os/exec"
	"testing"
)

// A shell reads quoted words as the original words.
func TestShellWords(t *testing.T) {
	t.Parallel()
	words := []string{
		"plain", "--flag", "a b", "", "it's", `"quoted" \ back`, "$HOME", "`date`", "~", "*", "a\nb", "#",
		"!x",
		"nats://a:4222,nats://b:4222", "é",
	}
	got, err := exec.CommandContext(t.Context(), "sh", "-c",
		"printf '%s\\0' "+ShellWords(words...)).Output()
	want := ""
	for _, word := range words {
		want += word + "\x00"
	}
	if err != nil || string(got) != want {
		t.Errorf("sh reads %s as %q (%v)", ShellWords(words...), got, err)
	}
	if got := ShellWords("bin/coordinator", "resume", "n8-a", "--data", "/runs"); got !=
		"bin/coordinator resume n8-a --data /runs" {
		t.Errorf("plain words are quoted: %s", got)
	}
}
