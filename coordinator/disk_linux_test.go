package main_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"nqueens/pkg/cli/clitest"
	"nqueens/pkg/testkit"
)

// A full disk ends the run with exit 4 and a line that says what to do, and so does one that can only be read. When
// there is room again the run resumes, and nothing accepted is lost: with the ledger alone on that disk, and with
// the embedded server's store too.
func TestRunResumesAfterAFullDisk(t *testing.T) {
	long(t)
	for _, c := range testkit.Sample(t, 1, []struct {
		name     string
		embedded bool
		size     string
	}{
		{"ledger", false, "16m"},
		{"ledger and store", true, "400m"}, // of which the server reserves 256 MiB for results and 32 MiB for tasks
	}) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			disk := mountDisk(t, c.size)
			address := testkit.Address(t)
			url := "nats://" + address
			flags := []string{"--data", disk.path, "--nats", url}
			if c.embedded {
				flags = []string{"--data", disk.path, "--workers", "0", "--listen", address}
			} else {
				startServerAt(t, address, t.TempDir())
			}
			coordinator := disk.coordinator(append([]string{"count", "14", "--depth", "3"}, flags...)...)
			s := &scene{t: t, coordinator: coordinator, run: coordinator.Await(counting), view: inspect(t, url)}
			work := startGated(t, url, 1)
			work.during(func() { s.progress(50) })
			disk.fill()
			work.open()
			if out := coordinator.ExpectExit(4); out != "" {
				t.Errorf("it printed %q", out)
			}
			if coordinator.Lines(`"exit":4,.*no space left on device`) != 1 {
				t.Error("the error does not name the cause")
			}
			done := coordinator.Field("run ended", "done")
			if done == 0 || done == coordinator.Field("run ended", "tasks") {
				t.Errorf("%d tasks were accepted when the disk was full", done)
			}

			disk.empty()
			resume := append([]string{"resume", s.run}, flags...)
			disk.remount("ro")
			stopped := disk.coordinator(resume...)
			stopped.ExpectExit(4)
			if stopped.Lines(`"exit":4,.*read-only file system`) != 1 {
				t.Error("the error does not name the cause")
			}
			disk.remount("rw")
			resumed := disk.coordinator(resume...)
			resumed.Await(counting)
			if got := resumed.Field("counting", "done"); got < done {
				t.Errorf("it resumes with %d tasks, after %d were accepted", got, done)
			}
			resumed.ExpectTotal(known(14))
		})
	}
}

// disk is a small file system that is mounted in a mount namespace of its own: only
// processes that enter the namespace see it.
type disk struct {
	t      *testing.T
	path   string // in the namespace
	holder *clitest.Process
}

func mountDisk(t *testing.T, size string) disk {
	t.Helper()
	private := []string{"--mount"}
	if os.Geteuid() != 0 {
		private = append(private, "--user", "--map-root-user")
	}
	path := t.TempDir()
	script := `mount -t tmpfs -o size="$1" tmpfs "$2" && echo mounted >&2 && exec sleep infinity`
	cmd := exec.Command("unshare", append(private, "sh", "-c", script, "sh", size, path)...)
	d := disk{t: t, path: path, holder: clitest.StartCommand(t, "unshare", cmd)}
	if mounted := func() bool { return strings.Contains(d.holder.Log(), "mounted") }; !d.holder.AwaitEndOr("mounted", mounted) {
		if os.Getenv("NQUEENS_WITHOUT_MOUNT") == "1" {
			t.Skipf("NOT TESTED: a disk that is full or can't be written. This process may not mount: %s", d.holder.Log())
		}
		t.Fatalf("this process may not mount a file system of its own, which this test needs; NQUEENS_WITHOUT_MOUNT=1 skips it: %s", d.holder.Log())
	}
	return d
}

// enter returns a command in the disk's namespace.
func (d disk) enter(command ...string) *exec.Cmd {
	flags := []string{"--target", fmt.Sprint(d.holder.Cmd.Process.Pid), "--mount"}
	if os.Geteuid() != 0 {
		flags = append(flags, "--user", "--preserve-credentials")
	}
	return exec.Command("nsenter", append(flags, command...)...)
}

// coordinator starts a coordinator in the disk's namespace.
func (d disk) coordinator(args ...string) *clitest.Process {
	d.t.Helper()
	cmd := d.enter(append([]string{filepath.Join(clitest.Programs(d.t), "coordinator")}, args...)...)
	cmd.Env = clitest.Environment(d.t.TempDir(), slowSearch...)
	return clitest.StartCommand(d.t, "coordinator", cmd)
}

// inside returns the path of a file of the disk outside the namespace.
func (d disk) inside(name string) string {
	return filepath.Join(fmt.Sprintf("/proc/%d/root", d.holder.Cmd.Process.Pid), d.path, name)
}

// fill fills the disk.
func (d disk) fill() {
	d.t.Helper()
	file, err := os.Create(d.inside("filler"))
	if err != nil {
		d.t.Fatal(err)
	}
	for zeros := make([]byte, 1<<16); err == nil; {
		_, err = file.Write(zeros)
	}
	if err := errors.Join(err, file.Close()); !errors.Is(err, syscall.ENOSPC) {
		d.t.Fatal(err)
	}
}

// empty makes room on the disk again.
func (d disk) empty() {
	d.t.Helper()
	if err := os.Remove(d.inside("filler")); err != nil {
		d.t.Fatal(err)
	}
}

// remount changes a mount option of the disk, which must not be in use.
func (d disk) remount(option string) {
	d.t.Helper()
	if out, err := d.enter("mount", "-o", "remount,"+option, d.path).CombinedOutput(); err != nil {
		d.t.Fatalf("remount %s: %v: %s", option, err, out)
	}
}
