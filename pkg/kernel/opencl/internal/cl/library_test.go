//go:build opencl && linux

package cl

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Threads may list the devices at the same time. The memory of every device can be written and
// read.
func TestDevices(t *testing.T) {
	var threads sync.WaitGroup
	for range 8 {
		threads.Go(func() {
			if _, err := Devices(); err != nil {
				t.Error(err)
			}
		})
	}
	threads.Wait()
	devices, err := Devices()
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range devices {
		c := NewContext(d, "kernel void nothing() {}")
		b, got := c.NewBuffer(8), make([]uint32, 2)
		Write(c, b, []uint32{3, 4})
		WriteAt(c, b, 1, []uint32{5})
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

// The .icd files name the drivers, in the order of the file names. The environment may name another
// folder, a file or a library.
func TestDriverLibraries(t *testing.T) {
	dir := vendors(t, map[string]string{"b.icd": "libb.so\n", "a.icd": "  liba.so", "c.icd": "\n",
		"note.txt": "libnote.so"})
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

// GPUs come first, the fastest before slower ones; then other devices, processors, and devices that
// can't be used. Devices of equal speed keep the order of their drivers.
func TestOrder(t *testing.T) {
	const nvidia, intel = "NVIDIA Corporation", "Intel(R) Corporation"
	want := []Device{
		{Name: "H100", Vendor: nvidia, Available: true, IsGPU: true, Units: 132, Clock: 1980},
		{Name: "first A100", Vendor: nvidia, Available: true, IsGPU: true, Units: 108, Clock: 1410},
		{Name: "second A100", Vendor: nvidia, Available: true, IsGPU: true, Units: 108, Clock: 1410},
		{Name: "no clock", Vendor: "Advanced Micro Devices, Inc.", Available: true, IsGPU: true,
			Units: 304},
		{Name: "graphics of a processor", Vendor: intel, Available: true, IsGPU: true, Units: 96,
			Clock: 1},
		{Name: "accelerator", Available: true, Units: 1000, Clock: 1000},
		{Name: "processor", Available: true, IsCPU: true, Units: 128, Clock: 3000},
		{Name: "without a compiler", IsGPU: true, Units: 1000, Clock: 2000},
	}
	for first := range want {
		var mixed []Device
		for i := range want {
			mixed = append(mixed, want[(len(want)-1-i+first)%len(want)])
		}
		a, b := slices.IndexFunc(mixed, named("first A100")),
			slices.IndexFunc(mixed, named("second A100"))
		if a > b {
			mixed[a], mixed[b] = mixed[b], mixed[a]
		}
		for i, d := range inOrder(mixed) {
			if d.Name != want[i].Name {
				t.Errorf("%d begins: place %d has %s, not %s", first, i, d.Name, want[i].Name)
			}
		}
	}
}

func named(name string) func(Device) bool { return func(d Device) bool { return d.Name == name } }

// A driver that runs without its OpenCL library is found, unless an .icd file names the library or
// the environment restricts the drivers. The error says what to install.
func TestUnnamedDrivers(t *testing.T) {
	t.Setenv("OCL_ICD_VENDORS", "")
	t.Setenv("OPENCL_VENDOR_PATH", "")
	for name, c := range map[string]struct {
		signs, libraries []string
		want             string
	}{
		"no driver":             {nil, nil, ""},
		"NVIDIA's":              {[]string{"proc/driver/nvidia/version"}, nil, "NVIDIA "},
		"NVIDIA's, a container": {[]string{"dev/nvidiactl"}, []string{"libpocl.so.2"}, "NVIDIA "},
		"NVIDIA's, named": {[]string{"dev/nvidiactl"}, []string{"/usr/lib/libnvidia-opencl.so.1"},
			""},
		"both":         {[]string{"dev/nvidiactl", "dev/kfd"}, nil, "NVIDIA AMD "},
		"AMD's, named": {[]string{"dev/kfd"}, []string{"libamdocl64.so"}, ""},
	} {
		root := t.TempDir()
		for _, sign := range c.signs {
			path := filepath.Join(root, sign)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		got := ""
		for _, m := range unnamed(root, c.libraries) {
			got += m.name + " "
			if text := (MissingError{m.name, m.library, m.install}).Error(); !strings.Contains(text,
				m.library) || !strings.Contains(text, "install") {
				t.Errorf("%s: the error is %s", name, text)
			}
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	t.Setenv("OCL_ICD_VENDORS", "libpocl.so.2")
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "dev", "kfd"), 0o700); err != nil {
		t.Fatal(err)
	}
	if got := unnamed(root, nil); got != nil {
		t.Errorf("the environment restricts the drivers, and %v is used", got)
	}
}
