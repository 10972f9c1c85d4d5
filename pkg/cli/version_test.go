package cli

import (
	"encoding/json"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

// link sets the variables of the linker until the test ends.
func link(t *testing.T, v, c, d string) {
	t.Helper()
	wasVersion, wasCommit, wasDate := version, commit, date
	t.Cleanup(func() { version, commit, date = wasVersion, wasCommit, wasDate })
	version, commit, date = v, c, d
}

// The version, commit and date are those that the linker set. The command version and --version
// print them after the name of the program, and then how it was built.
func TestVersionOfTheLinker(t *testing.T) {
	for _, c := range []struct{ version, commit, date, described string }{
		{"v1.2.3", "ab12cd3", "2026-11-20T15:30:12Z", "v1.2.3 (ab12cd3, 2026-11-20T15:30:12Z)"},
		{"v1.2.3-4-gab12cd3-dirty", "ab12cd3", "2026-11-20T15:30:12Z", "v1.2.3-4-gab12cd3-dirty (ab12cd3, 2026-11-20T15:30:12Z)"},
	} {
		link(t, c.version, c.commit, c.date)
		want := "tool version " + c.described + "\n" +
			runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH + ", protocol 3, ledger format 2\n"
		for _, args := range []string{"--version", "version"} {
			p := newProgram(t, nothing).run(args)
			if p.code != 0 || p.stdout.String() != want {
				t.Errorf("%s prints %q, exit %d, want %q", args, &p.stdout, p.code, want)
			}
		}
		var b Build
		p := newProgram(t, nothing).run("version", "--json")
		if err := json.Unmarshal(p.stdout.Bytes(), &b); err != nil || b.String()+"\n" != want {
			t.Errorf("version --json prints %q (%v)", &p.stdout, err)
		}
	}
}

// What the linker did not set comes from the build information, as far as that has it. There
// is always a version, and nothing in brackets is empty.
func TestVersionOfTheBuild(t *testing.T) {
	shape := regexp.MustCompile(`^tool version [^ ()]+( \([^ (),]+(, [^ (),]+)?\))?\n[^ ]+ [^ ]+/[^ ]+, protocol 3$`)
	for _, c := range []struct{ version, commit, date string }{
		{"", "", ""}, {"v1.2.3", "", ""}, {"", "ab12cd3", ""}, {"", "", "2026-11-20"}, {"v1.2.3", "ab12cd3", ""}, {"v1.2.3", "", "2026-11-20"},
	} {
		link(t, c.version, c.commit, c.date)
		if got := newBuild("tool", Formats{Protocol: 3}).String(); !shape.MatchString(got) || !strings.Contains(got, Version()) ||
			!strings.Contains(got, c.commit) || !strings.Contains(got, c.date) {
			t.Errorf("the linker said %q, and the version is described as %q", c, got)
		}
		if got := Version(); got == "" || c.version != "" && got != c.version {
			t.Errorf("the linker said %q, and the version is %q", c.version, got)
		}
	}
}
