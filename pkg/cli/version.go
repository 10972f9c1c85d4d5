package cli

import (
	"cmp"
	"runtime/debug"
	"slices"
	"strings"
)

// Set by the linker, where the build has no repository to read them from:
//
//	-ldflags "-X nqueens/pkg/cli.version=v1.2.3 -X nqueens/pkg/cli.commit=ab12cd3 -X nqueens/pkg/cli.date=2026-11-20T15:30:12Z"
var version, commit, date string

// Version returns the version of this program: as the linker set it, or else that of its
// module or revision, or else "devel".
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "(devel)" {
		return cmp.Or(version, "devel")
	}
	return cmp.Or(version, info.Main.Version, "devel")
}

// versionString returns the version with the commit and the date of the build, as far as
// they are known: "v1.2.3 (ab12cd3, 2026-11-20T15:30:12Z)".
func versionString() string {
	revision, when := commit, date
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				revision = cmp.Or(revision, s.Value[:min(len(s.Value), 12)])
			case "vcs.time":
				when = cmp.Or(when, s.Value)
			}
		}
	}
	known := slices.DeleteFunc([]string{revision, when}, func(s string) bool { return s == "" })
	if len(known) == 0 {
		return Version()
	}
	return Version() + " (" + strings.Join(known, ", ") + ")"
}
