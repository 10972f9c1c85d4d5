//go:build opencl && linux

package cl

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"unsafe"

	"github.com/ebitengine/purego"
)

// Drivers are loaded directly, as a loader (libOpenCL.so.1) would load them: many containers have none.

// defaultVendors is the folder with a file for each driver, *.icd, whose text is the driver's library.
const defaultVendors = "/etc/OpenCL/vendors"

// maxPlatforms and maxDevices bound what drivers may say of themselves.
const (
	maxPlatforms = 64
	maxDevices   = 256
)

// load loads the drivers of the folder of ICDs. It returns those that can be loaded, as their functions that
// list platforms; at least one if there is no error. It does so once in a process: drivers can't be unloaded safely.
var load = sync.OnceValues(loadDrivers)

func loadDrivers() (drivers []uintptr, err error) {
	libraries, errs := driverLibraries()
	for _, library := range libraries {
		driver, err := loadDriver(library)
		if err != nil {
			errs = append(errs, fmt.Errorf("driver %s: %w", library, err))
			continue
		}
		drivers = append(drivers, driver)
	}
	if len(drivers) == 0 {
		return nil, fmt.Errorf("no OpenCL on this machine: install the driver of the device, which /etc/OpenCL/vendors must name: %w",
			errors.Join(append(errs, errors.New("no driver can be loaded"))...))
	}
	return drivers, nil
}

// driverLibraries returns the libraries that the folder of ICDs names. The environment may name another
// folder, or a single file or library, as it may for loaders.
func driverLibraries() (libraries []string, errs []error) {
	where := defaultVendors
	for _, variable := range []string{"OPENCL_VENDOR_PATH", "OCL_ICD_VENDORS"} {
		if set := os.Getenv(variable); set != "" {
			where = set
		}
	}
	files := []string{where}
	switch info, err := os.Stat(where); {
	case err == nil && info.IsDir():
		files, _ = filepath.Glob(filepath.Join(where, "*.icd")) // fails only for a bad pattern
		slices.Sort(files)
	case !strings.HasSuffix(where, ".icd"):
		return []string{where}, nil
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		line, _, _ := strings.Cut(string(text), "\n")
		if line = strings.TrimSpace(line); line != "" {
			libraries = append(libraries, line)
		}
	}
	return libraries, errs
}

// loadDriver loads a driver, and returns its function that lists platforms. A driver exports one function,
// which returns the others by name; its platforms begin with a pointer to the table of their functions.
func loadDriver(library string) (platforms uintptr, err error) {
	handle, err := purego.Dlopen(library, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return 0, err
	}
	byName, err := purego.Dlsym(handle, "clGetExtensionFunctionAddress")
	if err != nil {
		return 0, err
	}
	name := []byte("clIcdGetPlatformIDsKHR\x00")
	platforms, _, _ = purego.SyscallN(byName, uintptr(address(name)))
	runtime.KeepAlive(name)
	if platforms == 0 {
		return 0, errors.New("it is no driver for OpenCL: it lacks clIcdGetPlatformIDsKHR")
	}
	return platforms, nil
}

// Platform is a driver.
type Platform struct {
	functions *table
	id        uintptr
	Name      string
}

// Platforms returns the platforms of this machine, at least one if there is no error.
func Platforms() (platforms []Platform, err error) {
	drivers, err := load()
	if err != nil {
		return nil, err
	}
	for _, list := range drivers {
		var ids [maxPlatforms]uintptr
		var n uint32
		status, _, _ := purego.SyscallN(list, maxPlatforms, uintptr(unsafe.Pointer(&ids)), uintptr(unsafe.Pointer(&n)))
		if st := Status(int32(status)); st != success {
			err = errors.Join(err, Error{getPlatformIDs, st})
			continue
		}
		for _, id := range ids[:min(n, maxPlatforms)] {
			p := Platform{functions: tableOf(id), id: id}
			p.Name = p.text(0x0902) // CL_PLATFORM_NAME
			platforms = append(platforms, p)
		}
	}
	if len(platforms) == 0 {
		return nil, errors.Join(errors.New("OpenCL has no platform on this machine: install the driver of the device, which /etc/OpenCL/vendors must name"), err)
	}
	return platforms, nil
}

// tableOf returns the functions of an object of a driver.
func tableOf(object uintptr) *table {
	return **(***table)(unsafe.Pointer(&object))
}

func (p Platform) text(what uintptr) string {
	var buffer [1024]byte
	var size uint64
	if err := p.functions.call(getPlatformInfo, p.id, what, uintptr(len(buffer)), uintptr(unsafe.Pointer(&buffer)), uintptr(unsafe.Pointer(&size))); err != nil {
		return ""
	}
	return cText(buffer[:min(size, uint64(len(buffer)))])
}

// cText returns the text before the first zero byte.
func cText(b []byte) string {
	text, _, _ := strings.Cut(string(b), "\x00")
	return strings.TrimSpace(text)
}
