//go:build cluster

package deploy_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestOperations checks that the commands of the pages about a cluster with Docker succeed, in their order and in
// a clean checkout, and that the run ends with the total.
func TestOperations(t *testing.T) {
	t.Parallel()
	dir := checkout(t) // removed after the cluster
	// The run outlasts the commands before the one that needs its end: a run that has ended is not counted again.
	c := newCluster(t, workloadLasting(t, 600*time.Second))
	c.dir = dir
	// The commands of the page, with an unused address and a shorter count.
	adapt := strings.NewReplacer("127.0.0.1:4222", c.server, "export N=20\n", "")
	run := ""
	var blocks []block
	for _, page := range []string{"docker", "install", "keys", "troubleshooting", "backups"} {
		blocks = append(blocks, pageBlocks(t, "../docs/"+page+".md")...)
	}
	for _, b := range blocks {
		if strings.Contains(b.text, "RUN") && run == "" {
			c.expectTotal()
			run = c.runName()
		}
		c.rememberVolumes()
		before := c.reloads()
		c.shell(strings.ReplaceAll(adapt.Replace(b.text), "RUN", run), b.watch)
		if strings.Contains(b.text, "kill --signal HUP nats") {
			c.eventually("the server has read its configuration again", func() bool { return c.reloads() > before })
		}
	}
	if run == "" || len(blocks) < 10 {
		t.Errorf("the pages have %d blocks of commands, and RUN in none", len(blocks))
	}
}

// reloads returns how often the server has read its configuration again.
func (c *cluster) reloads() int {
	return strings.Count(c.composeOutput("logs", "nats"), "Reloaded server configuration")
}

// runName returns the name of the newest run of a cluster.
func (c *cluster) runName() string {
	c.t.Helper()
	runs := c.compose("run", "--rm", "--no-deps", "coordinator", "runs", "--json")
	name := regexp.MustCompile(`"run":"([^"]+)"`).FindStringSubmatch(runs)
	if name == nil {
		c.t.Fatalf("there is no run: %s", runs)
	}
	return name[1]
}

// block is a block of shell commands in a page.
type block struct {
	text  string
	watch bool // they run until they are interrupted
}

func pageBlocks(t *testing.T, page string) []block {
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

// shell runs commands in the cluster's directory and fails the test on an error. It interrupts
// commands that watch when the program has logged something; until then they must not end.
func (c *cluster) shell(text string, watch bool) {
	c.t.Helper()
	path := filepath.Join(c.t.TempDir(), "output")
	file, err := os.Create(path)
	if err != nil {
		c.t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	output := func() []byte {
		text, _ := os.ReadFile(path) // fails only if the disk does
		return text
	}
	ctx, cancel := context.WithTimeout(context.Background(), buildTimeout) // some of them build the commands
	defer cancel()
	cmd := c.command(ctx, "bash", "-euo", "pipefail", "-c", text)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) }
	cmd.WaitDelay = waitTimeout
	cmd.Stdout, cmd.Stderr = file, file
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	logged := func() bool { return regexp.MustCompile(`"level":|\b(INF|WRN)\b`).Match(output()) }
	for interrupted := false; ; {
		select {
		case err := <-ended:
			if watch && !interrupted {
				err = errors.Join(errors.New("the command ended by itself, or logged nothing"), err)
			} else if watch {
				err = nil // the exit code of an interrupt
				c.stopOneOffs()
			}
			if err != nil {
				c.t.Fatalf("%s: %v\n%s", text, err, output())
			}
			c.t.Logf("ran\n%s", text)
			return
		case <-time.After(200 * time.Millisecond):
			if watch && !interrupted && logged() {
				interrupted = true
				cancel()
			}
		}
	}
}

// stopOneOffs stops containers of docker compose run that are still there: Compose loses an interrupt
// that comes in the instant between the first output of the container and its handler.
func (c *cluster) stopOneOffs() {
	c.t.Helper()
	left := c.docker(waitTimeout, "ps", "--quiet",
		"--filter", "label=com.docker.compose.project="+c.project, "--filter", "label=com.docker.compose.oneoff=True")
	for _, id := range strings.Fields(left) {
		c.t.Logf("stopping container %s, which an interrupt has not reached", id)
		c.docker(waitTimeout, "stop", id)
	}
}

// replaced returns the path of a copy of a file in which text replaces old.
func replaced(t *testing.T, file, old, text string) string {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(content, []byte(old)) {
		t.Fatalf("%s does not contain %s", file, old)
	}
	path := filepath.Join(t.TempDir(), filepath.Base(file))
	if err := os.WriteFile(path, bytes.ReplaceAll(content, []byte(old), []byte(text)), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
