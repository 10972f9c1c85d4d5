package cli

import (
	"runtime/debug"
	"strings"
)

// Set by the linker, where the build has no repository to read them from:
//
//	-ldflags "-X nqueens/pkg/cli.version=v1.2.3 -X nqueens/pkg/cli.commit=ab12cd3 -X nqueens/pkg/cli.date=2026-11-20T15:30:12Z"
var version, commit, date string

// Version is the version of this program: that of the build, or of its module, or of
// the revision that it was built from, or "devel".
func Version() string {
	if version != "" {
		return version
	}
	info, ok := debug.ReadBuildInfo()
	if ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "devel"
}

// versionString is the version with the commit and the date of the build, as far as they are
// known: "v1.2.3 (ab12cd3, 2026-11-20T15:30:12Z)".
func versionString() string {
	revision, when := commit, date
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			switch {
			case s.Key == "vcs.revision" && revision == "":
				revision = s.Value[:min(len(s.Value), 12)]
			case s.Key == "vcs.time" && when == "":
				when = s.Value
			}
		}
	}
	var known []string
	for _, s := range []string{revision, when} {
		if s != "" {
			known = append(known, s)
		}
	}
	if len(known) == 0 {
		return Version()
	}
	return Version() + " (" + strings.Join(known, ", ") + ")"
}
