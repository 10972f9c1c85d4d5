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

// A process reaches drivers through a loader, libOpenCL.so.1, which reads the list of drivers in the
// folder of ICDs. Where there is no loader, such as in many containers, the drivers of the same list
// are loaded here.

// loader is the library of the loader.
const loader = "libOpenCL.so.1"

// defaultVendors is the folder with a file for each driver, *.icd, whose text is the driver's library.
const defaultVendors = "/etc/OpenCL/vendors"

// maxPlatforms and maxDevices bound what drivers may tell of themselves.
const (
	maxPlatforms = 64
	maxDevices   = 256
)

// source is a loader or a driver.
type source struct {
	platforms uintptr // the function that lists platforms
	functions *table  // nil for a driver: each of its platforms has a table
}

// load loads the loader, or the drivers themselves. It does so once in a process: drivers can't be
// unloaded safely.
var load = sync.OnceValues(func() ([]source, error) { return loadFrom(loader) })

// loadFrom is load with a given library of the loader.
func loadFrom(loader string) ([]source, error) {
	found, err := loadLoader(loader)
	if err == nil {
		return []source{found}, nil
	}
	drivers, driverErr := loadDrivers()
	if len(drivers) == 0 {
		return nil, fmt.Errorf("no OpenCL on this machine: install a loader (Debian: ocl-icd-libopencl1) and the driver of the device: %w",
			errors.Join(err, driverErr))
	}
	return drivers, nil
}

func loadLoader(library string) (source, error) {
	handle, err := purego.Dlopen(library, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return source{}, err
	}
	functions := new(table)
	for f, name := range names {
		if functions[f], err = purego.Dlsym(handle, name); err != nil {
			return source{}, err
		}
	}
	return source{platforms: functions[getPlatformIDs], functions: functions}, nil
}

// loadDrivers loads the drivers of the folder of ICDs. It returns those that can be loaded, and the
// errors of the others.
func loadDrivers() ([]source, error) {
	libraries, errs := driverLibraries()
	var drivers []source
	for _, library := range libraries {
		driver, err := loadDriver(library)
		if err != nil {
			errs = append(errs, fmt.Errorf("driver %s: %w", library, err))
			continue
		}
		drivers = append(drivers, driver)
	}
	return drivers, errors.Join(errs...)
}

// driverLibraries returns the libraries that the folder of ICDs names. The environment may name another
// folder, or a single file or library, as it may for the loaders.
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

// loadDriver loads a driver without a loader. A driver exports one function, which returns the others by
// name; its platforms begin with a pointer to the table of their functions.
func loadDriver(library string) (source, error) {
	handle, err := purego.Dlopen(library, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return source{}, err
	}
	byName, err := purego.Dlsym(handle, "clGetExtensionFunctionAddress")
	if err != nil {
		return source{}, err
	}
	name := []byte("clIcdGetPlatformIDsKHR\x00")
	platforms, _, _ := purego.SyscallN(byName, uintptr(address(name)))
	runtime.KeepAlive(name)
	if platforms == 0 {
		return source{}, errors.New("it is no driver for OpenCL: it lacks clIcdGetPlatformIDsKHR")
	}
	return source{platforms: platforms}, nil
}

// Platform is a driver.
type Platform struct {
	functions *table
	id        uintptr
	Name      string
}

// Platforms returns the platforms of this machine, at least one if there is no error.
func Platforms() ([]Platform, error) {
	sources, err := load()
	if err != nil {
		return nil, err
	}
	return platformsOf(sources)
}

func platformsOf(sources []source) (platforms []Platform, err error) {
	for _, s := range sources {
		var ids [maxPlatforms]uintptr
		var n uint32
		status, _, _ := purego.SyscallN(s.platforms, maxPlatforms, uintptr(unsafe.Pointer(&ids)), uintptr(unsafe.Pointer(&n)))
		if st := Status(int32(status)); st != success {
			err = errors.Join(err, Error{getPlatformIDs, st})
			continue
		}
		for _, id := range ids[:min(n, maxPlatforms)] {
			p := Platform{functions: s.functions, id: id}
			if p.functions == nil {
				p.functions = tableOf(id)
			}
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
