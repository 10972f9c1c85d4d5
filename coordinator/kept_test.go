package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"nqueens/pkg/cli"
	"nqueens/pkg/runstore"
)

// parsed returns the flags of a command line of resume.
func parsed(t *testing.T, line string) *sessionFlags {
	t.Helper()
	var o sessionFlags
	cmd := &cobra.Command{}
	o.register(cmd.Flags())
	o.registerUnique(cmd.Flags())
	if err := cmd.ParseFlags(strings.Fields(line)); err != nil {
		t.Fatal(err)
	}
	return &o
}

// No user, password or token of a URL is kept with a run; the hint to resume it
// says that they are missing.
func TestSecretsAreNotKept(t *testing.T) {
	for urls, want := range map[string]string{
		"nats://me:secret@a:4222":                          "nats://a:4222",
		"secret@a:4222":                                    "a:4222",
		"nats://a:4222, tls://me:secret@b:4222":            "nats://a:4222,tls://b:4222",
		"nats://me:s%40cret@a:4222,nats://secret@b":        "nats://a:4222,nats://b",
		"nats://me:secret:with?odd#characters@a:4222/path": "nats://a:4222/path",
		"nats://me:se/cret@a:4222,ws://me@sec/ret@b/path":  "nats://a:4222,ws://b/path",
		"me:se/cret://x@a:4222,wss://cret:1/x@b":           "a:4222,wss://b",
	} {
		o := parsed(t, "")
		if err := o.flags.Set("nats", urls); err != nil {
			t.Fatal(err)
		}
		kept := o.given()["nats"]
		hint := o.resumeCommandLine("n8-a")
		if kept != want || strings.Contains(kept+hint, "cret") || !strings.Contains(hint, "user and password") {
			t.Errorf("%s: kept is %s, the hint is %s", urls, kept, hint)
		}
	}
	if hint := parsed(t, "--nats nats://a:4222 --nkey my.nkey").resumeCommandLine("n8-a"); !strings.HasSuffix(hint, " resume n8-a") {
		t.Errorf("the hint is %s", hint)
	}
}

// resume takes the flags with which the run was started, except those that its own replace: another
// server needs other credentials, and one of three ways to show credentials excludes the others.
func TestResumeUsesWhatIsKept(t *testing.T) {
	store, err := runstore.New(t.TempDir(), zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ kept, given, want string }{
		{"", "", ""},
		{"--workers 3 --kernel generic --http 127.0.0.1:0 --unique", "", "--workers 3 --kernel generic --unique --http 127.0.0.1:0"},
		{"--workers 3 --kernel generic", "--workers 2", "--workers 2 --kernel generic"},
		{"--nats nats://a --nkey /k --tls-ca /ca --replicas 3", "", "--nats nats://a --replicas 3 --nkey /k --tls-ca /ca"},
		{"--nats nats://a --nkey /k --tls-ca /ca --workers 1", "--nats nats://b", "--workers 1 --nats nats://b"},
		{"--nats nats://a --nkey /k --tls-ca /ca", "--nats nats://a", "--nats nats://a --nkey /k --tls-ca /ca"},
		{"--nats nats://a --nkey /k --tls-ca /ca", "--creds /c", "--nats nats://a --creds /c --tls-ca /ca"},
		{"--workers 3 --listen :1 --token-file /t", "--listen :2", "--workers 3 --listen :2 --token-file /t"},
		{"--workers 3 --listen :1 --token-file /t --http :3", "--nats nats://a", "--http :3 --nats nats://a"},
		{"--nats nats://a --workers 3", "--listen :2", "--listen :2"},
		{"--workers 3 --report /r.html", "", "--workers 3 --report /r.html"},
		{"--workers 3 --report /r.html", "--report=", "--workers 3"},
		{"--nats nats://a --nkey /k --http :3", "--nats=", "--http :3"},
		{"--http :3 --http-token-file /t", "", "--http :3 --http-token-file /t"},
		{"--http :3 --http-token-file /t", "--http :4", "--http :4 --http-token-file /t"},
		{"--http :3 --http-token-file /t --workers 3", "--http=", "--workers 3"},
		{"--http :3 --http-token-file /t --nats nats://a --nkey /k", "--http= --creds /c", "--nats nats://a --creds /c"},
	} {
		before := parsed(t, c.kept)
		var app cli.App
		if err := store.SaveOptions("", before.given()); err != nil {
			t.Fatal(err)
		}
		o := parsed(t, c.given)
		if _, err := o.useKept(&app, store, ""); err != nil {
			t.Error(err)
		}
		var words []string
		given := o.given()
		for _, flag := range keptFlags {
			if value, ok := given[flag]; ok {
				words = append(words, cli.FlagWords(o.flags.Lookup(flag), value)...)
			}
		}
		if got := strings.Join(words, " "); got != c.want {
			t.Errorf("%s, resumed with %q: %s, want %s", c.kept, c.given, got, c.want)
		}
	}
}

// A run whose flags can't be read is not resumed, perhaps on another server than its own.
func TestResumeWithDamagedOptions(t *testing.T) {
	store, err := runstore.New(t.TempDir(), zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(store.Folder(""), "options.json")
	if err := os.WriteFile(path, []byte(`{"opt`), 0o600); err != nil {
		t.Fatal(err)
	}
	var app cli.App
	_, err = parsed(t, "--nats nats://a:4222").useKept(&app, store, "")
	if hinted := withHint(err); !errors.Is(err, runstore.ErrOptions) || !strings.Contains(hinted.Error(), path) {
		t.Errorf("%v does not say what helps", hinted)
	}
}

// Files with credentials, and the report, are kept by their whole paths: resume may run in another folder.
func TestFilesAreKeptByTheirPaths(t *testing.T) {
	store, err := runstore.New(t.TempDir(), zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	var app cli.App
	parsed(t, "--nkey my.nkey --tls-ca /ca.crt --report r.html --http :1 --http-token-file page.token").keep(&app, store, "")
	kept, err := store.Options("")
	key, _ := filepath.Abs("my.nkey")
	report, _ := filepath.Abs("r.html")
	token, _ := filepath.Abs("page.token")
	if err != nil || kept["nkey"] != key || kept["tls-ca"] != "/ca.crt" || kept["report"] != report || kept["http-token-file"] != token || len(kept) != 5 {
		t.Errorf("kept are %v (%v)", kept, err)
	}
}
