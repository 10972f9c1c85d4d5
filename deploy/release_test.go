//go:build release

package deploy_test

import (
	"archive/zip"
	"bytes"
	"context"
	"debug/elf"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"nqueens/pkg/cli/clitest"
)

// releaseTimeout bounds each command; the first one compiles everything.
const releaseTimeout = 10 * time.Minute

// version is a release that is not ready: its changes are under Unreleased.
const version = "v0.0.0-test"

// in runs a command in a folder and returns what it prints to stdout.
func in(t *testing.T, dir string, environment []string, name string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), releaseTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = dir, environment
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %q: %v\n%s%s", name, args, err, out, &stderr)
	}
	return string(out)
}

// TestRelease makes a release twice, from two folders: the archives are equal. It unpacks those for
// Linux and uses the programs as a person would: those of arm64 in an emulator, except on arm64.
func TestRelease(t *testing.T) {
	targets := []string{"linux/amd64", "linux/arm64", "windows/amd64"}
	first := checkout(t)
	second := filepath.Join(t.TempDir(), "another", "folder")
	in(t, ".", nil, "git", "clone", "-q", first, second)
	for _, dir := range []string{first, second} {
		in(t, dir, nil, "scripts/release", append([]string{version}, targets...)...)
	}
	dist := filepath.Join(first, "dist")
	again := files(t, filepath.Join(second, "dist"))
	for name, data := range files(t, dist) {
		if !bytes.Equal(data, again[name]) {
			t.Errorf("%s differs when it is made again in another folder", name)
		}
		delete(again, name)
	}
	if len(again) > 0 {
		t.Errorf("the second release also has %q", slices.Collect(maps.Keys(again)))
	}
	if checked := in(t, dist, nil, "sha256sum", "--check", "SHA256SUMS"); strings.Count(checked, ": OK\n") != len(targets) {
		t.Errorf("SHA256SUMS has other files than the archives:\n%s", checked)
	}
	if notes := string(files(t, dist)["notes.md"]); !strings.Contains(notes, "### Added\n") || strings.Contains(notes, "\n## ") {
		t.Errorf("the notes are not the section of CHANGELOG.md:\n%s", notes)
	}
	built := version + " (" + strings.TrimSpace(in(t, first, []string{"TZ=UTC0", "HOME=" + os.Getenv("HOME")}, "git", "log", "-1",
		"--format=%h, %cd", "--abbrev=12", "--date=format-local:%Y-%m-%dT%H:%M:%SZ")) + ")"
	for _, arch := range []string{"amd64", "arm64"} {
		t.Run(arch, func(t *testing.T) {
			folder := t.TempDir()
			name := "nqueens-" + version + "-linux-" + arch
			in(t, folder, nil, "tar", "-xzf", filepath.Join(dist, name+".tar.gz"))
			release{folder: filepath.Join(folder, name), arch: arch}.check(t, built)
		})
	}
	r, err := zip.OpenReader(filepath.Join(dist, "nqueens-"+version+"-windows-amd64.zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	for _, program := range []string{"nqueens-coordinator.exe", "nqueens-worker.exe", "completions/powershell/nqueens-worker.ps1"} {
		if f, err := r.Open("nqueens-" + version + "-windows-amd64/" + program); err != nil {
			t.Errorf("the archive for Windows: %v", err)
		} else if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
}

// files returns the contents of the files in a folder.
func files(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	found := make(map[string][]byte)
	for _, e := range entries {
		if found[e.Name()], err = os.ReadFile(filepath.Join(dir, e.Name())); err != nil {
			t.Fatal(err)
		}
	}
	return found
}

// release is an archive that is unpacked.
type release struct{ folder, arch string }

// run runs a program of the archive and returns what it prints to stdout.
func (r release) run(t *testing.T, program string, args ...string) string {
	t.Helper()
	if r.arch != runtime.GOARCH {
		emulator, ok := map[string]string{"arm64": "qemu-aarch64-static", "amd64": "qemu-x86_64-static"}[r.arch]
		if _, err := exec.LookPath(emulator); !ok || err != nil {
			t.Fatalf("there is no emulator for %s: install qemu-user-static (%v)", r.arch, err)
		}
		program, args = emulator, append([]string{"./" + program}, args...)
	} else {
		program = "./" + program
	}
	return in(t, r.folder, clitest.Environment(t.TempDir()), program, args...)
}

func (r release) check(t *testing.T, built string) {
	t.Helper()
	for _, program := range []string{"nqueens-coordinator", "nqueens-worker"} {
		if got, want := r.run(t, program, "--version"), program+" version "+built+"\n"; !strings.HasPrefix(got, want) {
			t.Errorf("%s --version prints %q, want the first line %q", program, got, want)
		}
		binary, err := elf.Open(filepath.Join(r.folder, program))
		if err != nil {
			t.Fatal(err)
		}
		libraries, err := binary.ImportedLibraries()
		if err = errors.Join(err, binary.Close()); err != nil || len(libraries) > 0 || binary.Section(".interp") != nil {
			t.Errorf("%s is not static: it needs %q (%v)", program, libraries, err)
		}
		for shell, file := range map[string]string{
			"bash": program, "zsh": "_" + program, "fish": program + ".fish", "powershell": program + ".ps1",
		} {
			text, err := os.ReadFile(filepath.Join(r.folder, "completions", shell, file))
			if err != nil {
				t.Fatal(err)
			}
			if printed := r.run(t, program, "completion", shell); string(text) != printed || !strings.Contains(printed, program) {
				t.Errorf("%s completion %s prints something else than the archive has", program, shell)
			}
		}
	}
	if got := r.run(t, "nqueens-coordinator", "count", "10", "--workers", "1"); got != "724\n" {
		t.Errorf("count 10 prints %q", got)
	}
	if got := r.run(t, "nqueens-worker", "kernels"); !strings.Contains(got, "generic") || r.arch == "arm64" && !strings.Contains(got, "neon\n") {
		t.Errorf("worker kernels prints %q", got)
	}
	for name, text := range map[string]string{
		"LICENSE": "Apache License", "CHANGELOG.md": "# Changelog", "README.md": "# nqueens",
		"THIRD-PARTY-LICENSES": "=== github.com/nats-io/nats-server/v2 ", "nqueens-worker.service": "ExecStart=/usr/local/bin/nqueens-worker",
	} {
		if data, err := os.ReadFile(filepath.Join(r.folder, name)); err != nil || !bytes.Contains(data, []byte(text)) {
			t.Errorf("%s lacks %q (%v)", name, text, err)
		}
	}
}

// What can't be released is refused before anything is built.
func TestReleaseRefused(t *testing.T) {
	dir := checkout(t)
	refused := func(code int, message string, args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "scripts/release", args...)
		cmd.Dir = dir
		out, _ := cmd.CombinedOutput() // the exit code has more
		if cmd.ProcessState.ExitCode() != code || !strings.Contains(string(out), message) {
			t.Errorf("scripts/release %q: exit %d, want %d with %q:\n%s", args, cmd.ProcessState.ExitCode(), code, message, out)
		}
	}
	for _, args := range [][]string{{}, {"1.2.3"}, {"v1.2"}, {"v1.2.3+4"}, {"v01.2.3"}, {"v1.2.3-"}, {"v1.2.3 "}, {"--output"}} {
		refused(2, "usage: ", args...)
	}
	refused(1, "CHANGELOG.md has no section [987.6.5]", "v987.6.5")
	refused(1, dir+" exists", "--output", dir, version)
	in(t, dir, nil, "git", "tag", version)
	in(t, dir, nil, "git", "-c", "user.name=test", "-c", "user.email=test@localhost", "commit", "-q", "--allow-empty", "-m", "next")
	refused(1, "the tag "+version+" is at another commit", version)
	if err := os.WriteFile(filepath.Join(dir, "new.go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	refused(1, "the working tree has changes", version)
	if _, err := os.Stat(filepath.Join(dir, "dist")); err == nil {
		t.Error("a refused release has made dist")
	}
}
