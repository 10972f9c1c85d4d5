//go:build opencl && linux

package cl

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The memory of every device can be written and read.
func TestDevices(t *testing.T) {
	devices, err := Devices()
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range devices {
		c := NewContext(d, "kernel void nothing() {}")
		b, got := c.NewBuffer(8), make([]uint32, 2)
		Write(c, b, []uint32{3, 5})
		Read(c, got, b)
		if c.Err() != nil || !slices.Equal(got, []uint32{3, 5}) {
			t.Errorf("read %v (error %v)", got, c.Err())
		}
		Read(c, make([]uint32, 3), b)
		if c.Err() == nil {
			t.Error("a read beyond the buffer is no error")
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
	if Live() != 0 {
		t.Errorf("%d objects are not released", Live())
	}
}

// Without a driver, the error says what to install and names the driver that is missing.
func TestNoDriver(t *testing.T) {
	t.Setenv("OPENCL_VENDOR_PATH", "")
	t.Setenv("OCL_ICD_VENDORS", vendors(t, map[string]string{"a.icd": "libno-such-driver.so\n"}))
	defer func(loaded func() ([]uintptr, error)) { load = loaded }(load)
	load = loadDrivers
	_, err := Devices()
	if err == nil {
		t.Fatal("no error")
	}
	for _, part := range []string{"install its driver", "libno-such-driver.so"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the error does not name %s: %v", part, err)
		}
	}
}

// vendors makes a folder with the given files and returns its path.
func vendors(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// The .icd files name the drivers, in the order of the file names. The environment may name another folder, a file or a
// library.
func TestDriverLibraries(t *testing.T) {
	dir := vendors(t, map[string]string{"b.icd": "libb.so\n", "a.icd": "  liba.so", "c.icd": "\n", "note.txt": "libnote.so"})
	for where, want := range map[string][]string{
		dir:                          {"liba.so", "libb.so"},
		filepath.Join(dir, "b.icd"):  {"libb.so"},
		"libother.so.1":              {"libother.so.1"},
		filepath.Join(dir, "no.icd"): nil,
	} {
		t.Setenv("OPENCL_VENDOR_PATH", "")
		t.Setenv("OCL_ICD_VENDORS", where)
		got, err := driverLibraries()
		if !slices.Equal(got, want) || (want == nil) != (err != nil) {
			t.Errorf("%s names %q (error %v), want %q", where, got, err, want)
		}
	}
}
