package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"nqueens/pkg/cli"
	"nqueens/pkg/humanize"
	"nqueens/pkg/runstore"
)

// The flags of a run are kept with it. The ledger has the rest: the board, and how counts are checked.

// Flags of a session that are kept, in the order of a command line.
var (
	countingFlags   = []string{"workers", "kernel", "unique", "priority", "admitted", "http", "http-token-file", "http-url", "http-linger", "finish-in", "report", "watts-per-thread", "notify-file"}
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
	for _, name := range slices.Concat(credentialFlags, tlsFlags, []string{"admitted", "http-token-file", "report", "notify-file"}) {
		if path, err := filepath.Abs(kept[name]); err == nil && kept[name] != "" {
			kept[name] = path
		}
	}
	if err := store.SaveOptions(name, kept); err != nil {
		app.Log.Warn().Err(err).Str("run", name).Msg("what the run was started with is not kept: coordinator resume needs the same flags")
	}
}

// useKept sets the flags with which a run was started, except those that the command line replaces,
// and says so. It returns the words that it has set. The error is that of a value that does not fit this machine,
// or wraps [runstore.ErrOptions].
func (o *sessionFlags) useKept(app *cli.App, store *runstore.Store, name string) (words []string, err error) {
	kept, err := store.Options(name)
	if err != nil {
		return nil, fmt.Errorf("run %s: %w", name, err)
	}
	without := o.replaced(kept)
	for _, flag := range keptFlags {
		value, ok := kept[flag]
		f := o.flags.Lookup(flag)
		if !ok || f.Changed || slices.Contains(without, flag) {
			continue
		}
		words = append(words, cli.FlagWords(f, value)...)
		if err := o.flags.Set(flag, value); err != nil {
			return words, cli.Usagef("--%s: %w: the run was started with that, replace it", flag, err)
		}
	}
	if len(words) > 0 {
		app.Log.Info().Str("run", name).Msg("the run was started with, and resumes with: " + humanize.ShellWords(words...))
	}
	return words, nil
}

// replaced returns the flags of a run that the command line replaces by another server or other
// credentials, or that it makes pointless. An empty --nats is the embedded server, an empty --http no page.
func (o *sessionFlags) replaced(kept runstore.Options) (flags []string) {
	changed := o.flags.Changed
	given := o.given()
	switch {
	case changed("nats") && given["nats"] != kept["nats"], changed("listen") && kept["listen"] == "":
		flags = slices.Concat(serverFlags, credentialFlags, tlsFlags)
		if (given["nats"] == "") != (kept["nats"] == "") {
			flags = append(flags, "workers") // its default is another
		}
	case slices.ContainsFunc(credentialFlags, changed):
		flags = credentialFlags
	}
	if changed("http") && o.page.Address == "" {
		flags = append(slices.Clone(flags), "http-token-file", "http-url", "http-linger")
	}
	return flags
}

// userinfo matches what stands before the last @ of each address, and captures its scheme. A password with
// special characters need not be part of a valid URL.
var userinfo = regexp.MustCompile(`(^|,)\s*((?:nats|tls|wss?)://)?[^,]*@`)

// withoutUsers returns URLs, separated by commas, without users and passwords.
func withoutUsers(urls string) string { return userinfo.ReplaceAllString(urls, "$1$2") }

// resumeVariable is the environment variable with the command that resumes a run where the program is not started by
// hand, such as in a container.
const resumeVariable = "NQUEENS_RESUME_COMMAND"

// resumeCommandLine returns what to type to resume a run. The flags are kept with the run.
func (o *sessionFlags) resumeCommandLine(name string) string {
	if command := os.Getenv(resumeVariable); command != "" {
		return command
	}
	line := humanize.ShellWords(o.data.command("resume", name)...)
	if o.given()["nats"] != o.nats.URL {
		line += " (with --nats and its user and password)"
	}
	return line
}

// command returns the words of a command line of this program with the same folder.
func (d *dataFlag) command(words ...string) []string {
	words = append(cli.Program(), words...)
	if d.path != "" {
		words = append(words, "--data", d.path)
	}
	return words
}

// workerProgram returns the words that start a worker on another machine, if its program is called as this one is.
func workerProgram() []string {
	words := cli.Program()
	last := &words[len(words)-1]
	if filepath.IsAbs(*last) {
		*last = filepath.Base(*last)
	}
	folder, name := filepath.Split(*last)
	*last = folder + strings.Replace(name, "coordinator", "worker", 1)
	return words
}
