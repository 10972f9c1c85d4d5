//go:build cluster

package deploy_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Whoever types the commands of docs/operations.md, in their order, into a clean
// checkout, has each of them succeed, and the total in the end.
func TestOperations(t *testing.T) {
	t.Parallel()
	folder := checkout(t) // it is removed after the cluster
	c := newCluster(t, lasting(t, 40*time.Second))
	c.folder = folder
	// As a person would have it, but for an address that is free and a count of minutes.
	stand := strings.NewReplacer("127.0.0.1:4222", c.server, "export N=20\n", "")
	run := ""
	blocks := blocks(t, "../docs/operations.md")
	for _, b := range blocks {
		if strings.Contains(b.text, "RUN") && run == "" {
			c.expectTotal()
			run = c.runName()
		}
		c.shell(strings.ReplaceAll(stand.Replace(b.text), "RUN", run), b.watch)
	}
	if run == "" || len(blocks) < 10 {
		t.Errorf("docs/operations.md has %d blocks of commands, and RUN in none", len(blocks))
	}
}

// runName returns the name of the newest run of a cluster.
func (c *cluster) runName() string {
	c.t.Helper()
	listed := c.compose("run", "--rm", "--no-deps", "coordinator", "runs", "--json")
	name := regexp.MustCompile(`"run":"([^"]+)"`).FindStringSubmatch(listed)
	if name == nil {
		c.t.Fatalf("there is no run: %s", listed)
	}
	return name[1]
}

// block is a piece of a page with commands for a shell.
type block struct {
	text  string
	watch bool // they go on until they are interrupted
}

func blocks(t *testing.T, page string) []block {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	var found []block
	for _, m := range regexp.MustCompile("(?s)\n```sh( watch)?\n(.*?)```\n").FindAllStringSubmatch(string(text), -1) {
		found = append(found, block{text: m[2], watch: m[1] != ""})
	}
	return found
}

// shell runs commands in the cluster's folder, each of which must succeed. Those that
// watch must still be at it after a while.
func (c *cluster) shell(text string, watch bool) {
	c.t.Helper()
	long := patience
	if watch {
		long = 5 * time.Second
	}
	ctx, cancel := context.WithTimeout(context.Background(), long)
	defer cancel()
	cmd := c.command(ctx, "bash", "-euo", "pipefail", "-c", text)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) }
	cmd.WaitDelay = patience
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	if watch && !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		err = errors.Join(errors.New("it ended by itself"), err)
	} else if watch {
		err = nil
	}
	if err != nil {
		c.t.Fatalf("%s: %v\n%s", text, err, out.Bytes())
	}
	c.say("ran\n%s", text)
}

// checkout returns a copy of the sources as git has them: a repository of its own, with
// nothing that was built.
func checkout(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	git := func(args ...string) string {
		out, err := exec.CommandContext(t.Context(), "git", args...).Output()
		if err != nil {
			t.Fatalf("git %q: %v", args, err)
		}
		return string(out)
	}
	files := git("-C", "..", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	for file := range strings.SplitSeq(strings.TrimSuffix(files, "\x00"), "\x00") {
		from, to := filepath.Join("..", file), filepath.Join(folder, file)
		text, err := os.ReadFile(from)
		if errors.Is(err, fs.ErrNotExist) {
			continue // deleted, and not yet committed so
		}
		info, statErr := os.Stat(from)
		if err := errors.Join(err, statErr, os.MkdirAll(filepath.Dir(to), 0o755)); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(to, text, info.Mode()); err != nil {
			t.Fatal(err)
		}
	}
	git("-C", folder, "init", "-q")
	git("-C", folder, "add", "--all")
	git("-C", folder, "-c", "user.name=test", "-c", "user.email=test@localhost", "commit", "-q", "-m", "checkout")
	return folder
}

// replaced returns the path of a copy of a file with one text in place of another.
func replaced(t *testing.T, file, old, text string) string {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(content, []byte(old)) {
		t.Fatalf("%s has nothing of %s", file, old)
	}
	path := filepath.Join(t.TempDir(), filepath.Base(file))
	if err := os.WriteFile(path, bytes.ReplaceAll(content, []byte(old), []byte(text)), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
