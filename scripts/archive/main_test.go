package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const commitTime = "2026-11-20T15:30:12Z"

// folder makes a folder named tool with a program, a text and a folder. Times and modes differ in each.
func folder(t *testing.T, umask fs.FileMode) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "tool")
	for _, f := range []struct {
		name string
		mode fs.FileMode
	}{{"b/text", 0o666}, {"a", 0o777}} {
		path := filepath.Join(dir, f.name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("content of "+f.name), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, f.mode&^umask); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// archived packs the folder and returns the archive.
func archived(t *testing.T, dir, name string) []byte {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	var stdout strings.Builder
	if err := run([]string{commitTime, dir, file}, &stdout); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("%x  %s\n", sha256.Sum256(data), name); stdout.String() != want {
		t.Errorf("printed %q, want %q", stdout.String(), want)
	}
	return data
}

// The same files make the same archive, whenever they were made, wherever they are, and with any umask.
// The archive has all of them, in order.
func TestArchive(t *testing.T) {
	when, err := time.Parse(time.RFC3339, commitTime)
	if err != nil {
		t.Fatal(err)
	}
	for name, list := range map[string]func(*testing.T, []byte, time.Time) []string{"tool.tar.gz": tarFiles, "tool.zip": zipFiles} {
		first, second := archived(t, folder(t, 0), name), archived(t, folder(t, 0o022), name)
		if !bytes.Equal(first, second) {
			t.Errorf("%s: two archives of the same files differ", name)
		}
		want := "[drwxr-xr-x tool/  -rwxr-xr-x tool/a content of a drwxr-xr-x tool/b/  -rw-r--r-- tool/b/text content of b/text]"
		if got := fmt.Sprint(list(t, first, when)); got != want {
			t.Errorf("%s contains %s, want %s", name, got, want)
		}
	}
}

func tarFiles(t *testing.T, data []byte, modified time.Time) (found []string) {
	t.Helper()
	uncompressed, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	for r := tar.NewReader(uncompressed); ; {
		h, err := r.Next()
		if err == io.EOF {
			return found
		}
		if err != nil {
			t.Fatal(err)
		}
		if !h.ModTime.Equal(modified) || h.Uid != 0 || h.Gid != 0 {
			t.Errorf("%s is of %v and belongs to %d:%d", h.Name, h.ModTime, h.Uid, h.Gid)
		}
		found = append(found, content(t, h.FileInfo().Mode(), h.Name, r))
	}
}

func zipFiles(t *testing.T, data []byte, modified time.Time) (found []string) {
	t.Helper()
	r, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range r.File {
		if !f.Modified.Equal(modified) {
			t.Errorf("%s is of %v", f.Name, f.Modified)
		}
		file, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, content(t, f.Mode(), f.Name, file))
	}
	return found
}

func content(t *testing.T, mode fs.FileMode, name string, r io.Reader) string {
	t.Helper()
	data, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%v %s %s", mode, name, data)
}

// What can't be packed is an error: a link, a folder that does not exist, another format, a wrong time.
func TestRefused(t *testing.T) {
	dir := folder(t, 0)
	linked := folder(t, 0)
	if err := os.Symlink("a", filepath.Join(linked, "link")); err != nil {
		t.Fatal(err)
	}
	out := t.TempDir()
	for _, args := range [][]string{
		{commitTime, linked, filepath.Join(out, "tool.tar.gz")},
		{commitTime, filepath.Join(dir, "none"), filepath.Join(out, "tool.zip")},
		{commitTime, dir, filepath.Join(out, "tool.rar")},
		{"yesterday", dir, filepath.Join(out, "tool.zip")},
		{commitTime, dir},
	} {
		var stdout strings.Builder
		if err := run(args, &stdout); err == nil || stdout.String() != "" {
			t.Errorf("%q succeeds and prints %q", args, stdout.String())
		}
	}
}
