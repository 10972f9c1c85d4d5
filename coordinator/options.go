package main

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"

	"nqueens/pkg/cli"
	"nqueens/pkg/humanize"
	"nqueens/pkg/runstore"
)

// The flags of a run are kept with it, and are in the hint to resume it. The ledger has the
// rest: the board, and how counts are checked.

// Flags of a session that are kept, in the order of a command line.
var (
	countingFlags   = []string{"workers", "kernel", "unique", "priority", "admitted", "http", "http-token-file", "report"}
	serverFlags     = []string{"nats", "listen", "replicas"}
	credentialFlags = []string{"nkey", "token-file", "creds"}
	tlsFlags        = []string{"tls-ca", "tls-cert", "tls-key"}
	keptFlags       = slices.Concat(countingFlags, serverFlags, credentialFlags, tlsFlags)
)

// given returns the flags that are set and kept, with their values but without secrets, as they were
// written.
func (o *sessionFlags) given() runstore.Options {
	given := make(runstore.Options)
	for _, name := range keptFlags {
		f := o.flags.Lookup(name)
		if value := f.Value.String(); f.Changed && value != "" {
			given[name] = value
		}
	}
	if urls, ok := given["nats"]; ok {
		given["nats"] = withoutUsers(urls)
	}
	return given
}

// keep keeps the given flags with a run that counts: a server that can't be reached replaces none that could. Files
// are kept by their whole paths.
func (o *sessionFlags) keep(app *cli.App, store *runstore.Store, name string) {
	kept := o.given()
	for _, name := range slices.Concat(credentialFlags, tlsFlags, []string{"admitted", "http-token-file", "report"}) {
		if path, err := filepath.Abs(kept[name]); err == nil && kept[name] != "" {
			kept[name] = path
		}
	}
	if err := store.SaveOptions(name, kept); err != nil {
		app.Log.Warn().Err(err).Str("run", name).Msg("what the run was started with is not kept: coordinator resume needs the same flags")
	}
}

// useKept sets the flags with which a run was started, except those that the command line replaces,
// and says so. It returns the words that it has set. If the flags can't be read, the command line must
// name the server, or the run would move to another; else the error wraps [runstore.ErrOptions].
func (o *sessionFlags) useKept(app *cli.App, store *runstore.Store, name string) (words []string, err error) {
	kept, err := store.Options(name)
	switch {
	case err != nil && (o.flags.Changed("nats") || o.flags.Changed("listen")):
		app.Log.Warn().Err(err).Str("run", name).Msg("resuming with the defaults instead of what the run was started with")
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("run %s: %w", name, err)
	}
	without := o.replaced(kept)
	for _, flag := range keptFlags {
		value, ok := kept[flag]
		f := o.flags.Lookup(flag)
		if !ok || f.Changed || slices.Contains(without, flag) {
			continue
		}
		if err := o.flags.Set(flag, value); err != nil {
			app.Log.Warn().Err(err).Str("run", name).Msg("ignoring a flag with which the run was started")
			continue
		}
		words = append(words, cli.FlagWords(f, value)...)
	}
	if len(words) > 0 {
		app.Log.Info().Str("run", name).Msg("the run was started with, and resumes with: " + humanize.ShellWords(words...))
	}
	return words, nil
}

// replaced returns the flags of a run that the command line replaces by another server or other
// credentials, or that it makes pointless. An empty --nats is the embedded server, an empty --http no page.
func (o *sessionFlags) replaced(kept runstore.Options) (flags []string) {
	given := o.given()
	isGiven := func(name string) bool { return given[name] != "" }
	moves := o.flags.Changed("nats") && given["nats"] != kept["nats"] || isGiven("listen") && kept["listen"] == ""
	switch {
	case moves:
		flags = slices.Concat(serverFlags, credentialFlags, tlsFlags)
		if isGiven("nats") != (kept["nats"] != "") {
			flags = append(flags, "workers") // its default is another
		}
	case slices.ContainsFunc(credentialFlags, isGiven):
		flags = credentialFlags
	}
	if o.flags.Changed("http") && !isGiven("http") { // no page
		flags = append(slices.Clone(flags), "http-token-file")
	}
	return flags
}

// userinfo matches what stands before the last @ of each address, and captures its scheme. A password with
// special characters need not be part of a valid URL.
var userinfo = regexp.MustCompile(`(^|,)\s*((?:nats|tls|wss?)://)?[^,]*@`)

// withoutUsers returns URLs, separated by commas, without users and passwords.
func withoutUsers(urls string) string { return userinfo.ReplaceAllString(urls, "$1$2") }

// resumeCommandLine returns what to type to resume a run.
func (o *sessionFlags) resumeCommandLine(name string) string {
	words := append(cli.Program(), "resume", name)
	words = append(words, o.data.words()...)
	given := o.given()
	for _, flag := range keptFlags {
		if value, ok := given[flag]; ok {
			words = append(words, cli.FlagWords(o.flags.Lookup(flag), value)...)
		}
	}
	line := humanize.ShellWords(words...)
	if given["nats"] != o.nats.URL {
		line += " (with the user and password in --nats)"
	}
	return line
}

// command returns a command line of coordinator with the same folder.
func (d *dataFlag) command(words ...string) string {
	return humanize.ShellWords(slices.Concat([]string{"coordinator"}, words, d.words())...)
}

// words returns the words of a command line with the same folder.
func (d *dataFlag) words() []string {
	if d.path == "" {
		return nil
	}
	return []string{"--data", d.path}
}
