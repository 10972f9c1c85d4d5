//go:build opencl && linux

package cl

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Every device of every driver has memory that is written and read.
func TestDevices(t *testing.T) {
	platforms, err := Platforms()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range platforms {
		for _, d := range mustDevices(t, p) {
			c, err := NewContext(d)
			if err != nil {
				t.Fatal(err)
			}
			b, err := c.NewBuffer(8)
			if err != nil {
				t.Fatal(err)
			}
			got := make([]uint32, 2)
			if err := Write(c, &b, []uint32{3, 5}); err != nil {
				t.Error(err)
			}
			if err := Read(c, got, &b); err != nil || !slices.Equal(got, []uint32{3, 5}) {
				t.Errorf("read %v (error %v)", got, err)
			}
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	if Live() != 0 {
		t.Errorf("%d objects are not released", Live())
	}
}

func mustDevices(t *testing.T, p Platform) []Device {
	t.Helper()
	devices, err := p.Devices()
	if err != nil {
		t.Fatal(err)
	}
	return devices
}

// Without a driver, the error says what to install and names the driver that is missing.
func TestNoDriver(t *testing.T) {
	t.Setenv("OPENCL_VENDOR_PATH", "")
	t.Setenv("OCL_ICD_VENDORS", vendors(t, map[string]string{"a.icd": "libno-such-driver.so\n"}))
	_, err := loadDrivers()
	if err == nil {
		t.Fatal("no error")
	}
	for _, part := range []string{"install the driver", "libno-such-driver.so"} {
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

// The folder of ICDs names the drivers in the order of its files; the environment may name another
// folder, a file or a library.
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
		got, errs := driverLibraries()
		if !slices.Equal(got, want) || (want == nil) != (len(errs) > 0) {
			t.Errorf("%s names %q (errors %v), want %q", where, got, errs, want)
		}
	}
}
