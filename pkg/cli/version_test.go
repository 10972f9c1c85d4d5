package cli

import (
	"regexp"
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

// The version, commit and date are those that the linker set. --version prints them after
// the name of the program.
func TestVersionOfTheLinker(t *testing.T) {
	for _, c := range []struct{ version, commit, date, described string }{
		{"v1.2.3", "ab12cd3", "2026-11-20T15:30:12Z", "v1.2.3 (ab12cd3, 2026-11-20T15:30:12Z)"},
		{"v1.2.3-4-gab12cd3-dirty", "ab12cd3", "2026-11-20T15:30:12Z", "v1.2.3-4-gab12cd3-dirty (ab12cd3, 2026-11-20T15:30:12Z)"},
	} {
		link(t, c.version, c.commit, c.date)
		if Version() != c.version || versionString() != c.described {
			t.Errorf("version %q, described as %q, want %q and %q", Version(), versionString(), c.version, c.described)
		}
		p := newProgram(t, nothing).run("--version")
		if p.code != 0 || p.stdout.String() != "tool version "+c.described+"\n" {
			t.Errorf("--version prints %q, exit %d, want %q", &p.stdout, p.code, c.described)
		}
	}
}

// What the linker did not set comes from the build information, as far as that has it. There
// is always a version, and nothing in brackets is empty.
func TestVersionOfTheBuild(t *testing.T) {
	shape := regexp.MustCompile(`^[^ ()]+( \([^ (),]+(, [^ (),]+)?\))?$`)
	for _, c := range []struct{ version, commit, date string }{
		{"", "", ""}, {"v1.2.3", "", ""}, {"", "ab12cd3", ""}, {"", "", "2026-11-20"}, {"v1.2.3", "ab12cd3", ""}, {"v1.2.3", "", "2026-11-20"},
	} {
		link(t, c.version, c.commit, c.date)
		if got := versionString(); !shape.MatchString(got) || !strings.HasPrefix(got, Version()) ||
			!strings.Contains(got, c.commit) || !strings.Contains(got, c.date) {
			t.Errorf("the linker said %q, and the version is described as %q", c, got)
		}
		if got := Version(); got == "" || c.version != "" && got != c.version {
			t.Errorf("the linker said %q, and the version is %q", c.version, got)
		}
	}
}
