package cli

import (
	"strings"
	"testing"
)

// Every help, however it is requested, ends with how the environment sets flags.
func TestHelp(t *testing.T) {
	const last = "From the environment: NQUEENS_LOG_LEVEL is --log-level.\n"
	for _, args := range []string{"--help", "help", "", "count --help", "count -h", "help count", "completion --help", "help completion", "help help"} {
		p := newProgram(t, nothing).run(strings.Fields(args)...)
		help := p.stdout.String()
		if p.code != 0 || !strings.HasSuffix(help, last) || !strings.Contains(help, "Usage:") || p.stderr.Len() > 0 || p.ran {
			t.Errorf("%q: exit %d, stdout %q, stderr %q", args, p.code, help, &p.stderr)
		}
	}
	by, of := newProgram(t, nothing).run("help", "count"), newProgram(t, nothing).run("count", "--help")
	if by.stdout.String() != of.stdout.String() {
		t.Errorf("help count prints\n%s\nand count --help\n%s", &by.stdout, &of.stdout)
	}
}

// Help works even if the environment has wrong settings for the log.
func TestHelpNeedsNoEnvironment(t *testing.T) {
	p := newProgram(t, nothing)
	t.Setenv("NQUEENS_LOG_LEVEL", "loud")
	if p.run("help", "count"); p.code != 0 || p.stdout.Len() == 0 {
		t.Errorf("exit %d, stderr %q", p.code, &p.stderr)
	}
}
