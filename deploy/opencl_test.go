//go:build cluster

package deploy_test

import (
	"debug/elf"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestOpenCLImage builds the image of workers for devices on a base with PoCL, a driver for CPUs, and
// starts it: it lists the device. It has no loader of OpenCL, and the image of other workers is static.
func TestOpenCLImage(t *testing.T) {
	t.Parallel()
	c := newCluster(t, small)
	image, base := c.project+"-worker", c.project+"-base"
	c.build("worker")
	c.expectStatic(image)
	c.makePoCLBase(base)
	defer c.docker(waitTimeout, "image", "rm", base)
	c.variables["COMPOSE_FILE"] = "docker-compose.yml:deploy/gpu.yml"
	c.variables["OPENCL_BASE"] = base
	c.build("worker")
	listed := c.docker(waitTimeout, "run", "--rm", "--read-only", "--tmpfs", "/tmp", image, "kernels")
	if !strings.Contains(listed, "opencl:0  ") {
		t.Errorf("worker kernels prints %q, want a device", listed)
	}
	t.Logf("worker kernels in a container: %s", listed)
}

// expectStatic checks that the worker of an image needs no C library.
func (c *cluster) expectStatic(image string) {
	c.t.Helper()
	container := c.docker(waitTimeout, "create", image)
	defer c.docker(waitTimeout, "rm", "--volumes", container)
	program := filepath.Join(c.t.TempDir(), "worker")
	c.docker(waitTimeout, "cp", container+":/bin/worker", program)
	binary, err := elf.Open(program)
	if err != nil {
		c.t.Fatal(err)
	}
	libraries, err := binary.ImportedLibraries()
	if err = errors.Join(err, binary.Close()); err != nil || len(libraries) > 0 || binary.Section(".interp") != nil {
		c.t.Errorf("the worker without OpenCL is not static: it needs %q (%v)", libraries, err)
	}
}

// makePoCLBase makes an image of this machine's libc and PoCL, with what they load.
func (c *cluster) makePoCLBase(name string) {
	c.t.Helper()
	const icd = "/etc/OpenCL/vendors/pocl.icd"
	text, err := os.ReadFile(icd)
	if err != nil {
		c.t.Fatalf("PoCL is missing: install pocl-opencl-icd: %v", err)
	}
	driver := strings.TrimSpace(string(text))
	if !filepath.IsAbs(driver) {
		found, _ := filepath.Glob("/usr/lib/*/" + driver) // fails only for a bad pattern
		if len(found) == 0 {
			c.t.Fatalf("%s names %s, which is not there", icd, driver)
		}
		driver = found[0]
	}
	folders, _ := filepath.Glob("/usr/lib/*/pocl")
	libc, _ := filepath.Glob("/lib/*/lib[dp][lt]*.so.[02]") // libdl and libpthread, which the worker loads
	modules, _ := filepath.Glob("/usr/lib/*/pocl/*.so*")
	files := append(append([]string{icd, driver, "/usr/share/pocl"}, folders...), libc...)
	for _, library := range append(modules, driver) {
		out, err := exec.CommandContext(c.t.Context(), "ldd", library).Output()
		if err != nil {
			c.t.Fatalf("ldd %s: %v", library, err)
		}
		for _, word := range strings.Fields(string(out)) {
			if strings.HasPrefix(word, "/") {
				files = append(files, word)
			}
		}
	}
	slices.Sort(files)
	archive := filepath.Join(c.t.TempDir(), "base.tar")
	// A library is stored as a file under the name by which it is loaded. Folders such as /lib are links
	// on many systems, and folders in the image.
	tar := exec.CommandContext(c.t.Context(), "tar", append([]string{"--create", "--file", archive, "--dereference", "--absolute-names"}, slices.Compact(files)...)...)
	if out, err := tar.CombinedOutput(); err != nil {
		c.t.Fatalf("tar: %v: %s", err, out)
	}
	c.docker(buildTimeout, "import", archive, name)
}
