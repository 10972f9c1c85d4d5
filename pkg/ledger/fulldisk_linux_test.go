package ledger_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"nqueens/pkg/ledger"
	"nqueens/pkg/run"
)

func init() { children["full disk"] = fillDisk }

// When the disk is full, Accept fails with the cause and what to do, and so does every
// later call. After there is room again, the ledger opens with what was accepted before
// and accepts more. On a read-only disk it can be opened for reading only.
func TestFullDisk(t *testing.T) {
	cmd := child(t, "full disk", t.TempDir())
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
	if os.Geteuid() != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}}
	}
	err := cmd.Start()
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENOSYS) || errors.Is(err, syscall.EACCES) {
		if os.Getenv("NQUEENS_WITHOUT_MOUNT") == "1" {
			t.Skipf("NOT TESTED: a full disk. This process may not mount: %v", err)
		}
		t.Fatalf("this process may not make a mount namespace, which the test of a full disk needs; NQUEENS_WITHOUT_MOUNT=1 does without: %v", err)
	}
	if err == nil {
		err = cmd.Wait()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// fillDisk is the test. It runs in a process with its own mounts.
func fillDisk(folder string) error {
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("mounts can't be made private: %w", err)
	}
	if err := syscall.Mount("ledger", folder, "tmpfs", 0, "size=1m"); err != nil {
		return fmt.Errorf("a small disk can't be mounted: %w", err)
	}
	ballast := filepath.Join(folder, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 600<<10), 0o600); err != nil {
		return err
	}
	folder = filepath.Join(folder, runName)
	l, err := ledger.Create(folder, header(manyTasks))
	if err != nil {
		return err
	}
	want, err := untilFull(l)
	if err != nil {
		return err
	}
	if err := copyOntoFullDisk(l); err != nil {
		return err
	}
	if err := l.Close(); err != nil {
		return err
	}
	if err := os.Remove(ballast); err != nil {
		return err
	}
	if l, err = openWriter(folder); err != nil {
		return fmt.Errorf("with room again: %w", err)
	}
	next := result(uint64(len(want)), 1, 1)
	if _, err := l.Accept([]run.Result{next}, 0, position(1)); err != nil {
		return fmt.Errorf("with room again: %w", err)
	}
	want = append(want, next)
	if got, err := read(l); err != nil || !slices.Equal(got.Results, want) {
		return fmt.Errorf("with room again there are %d results (%w), want %d, or others", len(got.Results), err, len(want))
	}
	if err := l.Close(); err != nil {
		return err
	}
	return onReadOnlyDisk(folder, want)
}

// untilFull accepts results until the disk is full, and returns them.
func untilFull(l *ledger.Ledger) (accepted []run.Result, err error) {
	batch := make([]run.Result, 200)
	for err == nil {
		for i := range batch {
			batch[i] = result(l.Len()+uint64(i), 1, 1)
		}
		if _, err = l.Accept(batch, 0, position(l.Len())); err == nil {
			accepted = append(accepted, batch...)
		}
	}
	if !errors.Is(err, syscall.ENOSPC) || !errors.Is(err, run.ErrIncomplete) {
		return nil, fmt.Errorf("on a full disk the error is %w", err)
	}
	for _, part := range []string{"the ledger ", filepath.Join(runName, file), "no space left", "make room and resume"} {
		if !strings.Contains(err.Error(), part) {
			return nil, fmt.Errorf("on a full disk the error does not say %q: %w", part, err)
		}
	}
	if l.Len() != uint64(len(accepted)) || l.Has(l.Len()) || len(accepted) < 1000 {
		return nil, fmt.Errorf("on a full disk %d are accepted, want %d", l.Len(), len(accepted))
	}
	_, again := l.Accept([]run.Result{result(0, 1, 1)}, 0, position(1))
	if !errors.Is(again, err) || !errors.Is(l.SetState(run.Stopped), err) {
		return nil, fmt.Errorf("after that the error is %w, not the same", again)
	}
	return accepted, nil
}

// copyOntoFullDisk copies the ledger to a disk that is too small for it.
func copyOntoFullDisk(l *ledger.Ledger) error {
	folder, err := os.MkdirTemp("", "copies")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	if err := syscall.Mount("copies", folder, "tmpfs", 0, "size=128k"); err != nil {
		return fmt.Errorf("a small disk can't be mounted: %w", err)
	}
	defer func() { _ = syscall.Unmount(folder, 0) }()
	path := filepath.Join(folder, "copy")
	if err := os.WriteFile(path, []byte("an older copy"), 0o600); err != nil {
		return err
	}
	_, err = copyTo(l, path)
	if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "make room, or name a file on another disk") {
		return fmt.Errorf("copied onto a full disk: %w", err)
	}
	if old, err := os.ReadFile(path); err != nil || string(old) != "an older copy" {
		return fmt.Errorf("the older copy is %q: %w", old, err)
	}
	if files, err := os.ReadDir(folder); err != nil || len(files) != 1 {
		return fmt.Errorf("beside the older copy there is more: %v (%w)", files, err)
	}
	return nil
}

func onReadOnlyDisk(folder string, want []run.Result) error {
	if err := syscall.Mount("", filepath.Dir(folder), "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		return fmt.Errorf("the disk can't be made read-only: %w", err)
	}
	if _, err := openWriter(folder); !errors.Is(err, syscall.EROFS) || !errors.Is(err, run.ErrIncomplete) {
		return fmt.Errorf("on a read-only disk the writer's error is %w", err)
	}
	l, err := ledger.OpenReadOnly(folder)
	if err != nil {
		return fmt.Errorf("on a read-only disk: %w", err)
	}
	if got, err := read(l); err != nil || !slices.Equal(got.Results, want) {
		return fmt.Errorf("on a read-only disk there are %d results (%w), want %d, or others", len(got.Results), err, len(want))
	}
	return l.Close()
}
