//go:build opencl && linux

package cl

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"unsafe"

	"github.com/ebitengine/purego"
)

// This package loads drivers itself, as a loader (libOpenCL.so.1) would, because many containers have no loader.

// defaultVendors is the folder of the .icd files. Each of them names the library of a driver.
const defaultVendors = "/etc/OpenCL/vendors"

// Device is an OpenCL device that a driver of this machine has.
type Device struct {
	functions *table
	id        uintptr

	Name, Vendor string
	Driver       string // its platform and version
	Available    bool   // it can run programs, and has a compiler
	IsCPU        bool   // its units are threads, not multiprocessors
	Units        int    // compute units
	GroupSize    int    // the most lanes of a work-group
	Memory       uint64 // bytes of global memory
	LocalMemory  int    // bytes for a work-group, at most 1 GiB
}

// maxPlatforms and maxDevices limit the platforms of a driver and the devices of a platform. Further ones are left out.
const (
	maxPlatforms = 64
	maxDevices   = 256
)

// Devices loads the drivers of this machine and returns their devices, at least one if there is no error. A driver that can't
// be loaded, lists no platform or has no device is left out, and so is a platform that fails. The error says why no device is
// left.
func Devices() (devices []Device, err error) {
	drivers, err := load()
	for _, list := range drivers {
		var platforms [maxPlatforms]uintptr
		var n uint32
		if status, _, _ := purego.SyscallN(list, maxPlatforms, uintptr(unsafe.Pointer(&platforms)), uintptr(unsafe.Pointer(&n))); int32(status) != success {
			err = errors.Join(err, Error{"clIcdGetPlatformIDsKHR", int32(status)})
			continue
		}
		for _, platform := range platforms[:min(n, maxPlatforms)] {
			found, failed := devicesOf(platform)
			if err = errors.Join(err, failed); failed == nil {
				devices = append(devices, found...)
			}
		}
	}
	if len(devices) == 0 {
		return nil, errors.Join(errors.New("no OpenCL device on this machine: install its driver, which "+defaultVendors+" must name"), err)
	}
	return devices, nil
}

// devicesOf returns the devices of a platform.
func devicesOf(platform uintptr) (devices []Device, err error) {
	c := &caller{functions: tableOf(platform)}
	name := c.text(getPlatformInfo, platform, 0x0902) // CL_PLATFORM_NAME
	const all, cpu = 0xffffffff, 1 << 1
	var ids [maxDevices]uintptr
	var n uint32
	c.call(getDeviceIDs, platform, all, maxDevices, uintptr(unsafe.Pointer(&ids)), uintptr(unsafe.Pointer(&n)))
	for _, id := range ids[:min(n, maxDevices)] {
		devices = append(devices, Device{
			functions:   c.functions,
			id:          id,
			Name:        c.text(getDeviceInfo, id, 0x102b),                      // CL_DEVICE_NAME
			Vendor:      c.text(getDeviceInfo, id, 0x102c),                      // CL_DEVICE_VENDOR
			Driver:      name + ", driver " + c.text(getDeviceInfo, id, 0x102d), // CL_DRIVER_VERSION
			Available:   c.number(id, 0x1027) != 0 && c.number(id, 0x1028) != 0, // CL_DEVICE_AVAILABLE, CL_DEVICE_COMPILER_AVAILABLE
			IsCPU:       c.number(id, 0x1000)&cpu != 0,                          // CL_DEVICE_TYPE
			Units:       int(c.number(id, 0x1002)),                              // CL_DEVICE_MAX_COMPUTE_UNITS
			GroupSize:   int(min(c.number(id, 0x1004), 1<<30)),                  // CL_DEVICE_MAX_WORK_GROUP_SIZE
			Memory:      c.number(id, 0x101f),                                   // CL_DEVICE_GLOBAL_MEM_SIZE
			LocalMemory: int(min(c.number(id, 0x1023), 1<<30)),                  // CL_DEVICE_LOCAL_MEM_SIZE
		})
	}
	return devices, c.err
}

// load loads the drivers that the machine's .icd files name. For each driver it returns the function that lists platforms. The
// error says which drivers can't be loaded, and why. It loads once in a process, because drivers can't be unloaded safely.
var load = sync.OnceValues(loadDrivers)

func loadDrivers() (drivers []uintptr, err error) {
	libraries, err := driverLibraries()
	for _, library := range libraries {
		driver, failed := loadDriver(library)
		if failed != nil {
			err = errors.Join(err, fmt.Errorf("driver %s: %w", library, failed))
			continue
		}
		drivers = append(drivers, driver)
	}
	return drivers, err
}

// driverLibraries returns the libraries that the .icd files name. As with loaders, the environment may name another folder,
// or a single file or library.
func driverLibraries() (libraries []string, err error) {
	where := cmp.Or(os.Getenv("OCL_ICD_VENDORS"), os.Getenv("OPENCL_VENDOR_PATH"), defaultVendors)
	files := []string{where}
	switch info, err := os.Stat(where); {
	case err == nil && info.IsDir():
		files, _ = filepath.Glob(filepath.Join(where, "*.icd")) // sorted; fails only for a bad pattern
	case !strings.HasSuffix(where, ".icd"):
		return files, nil
	}
	for _, file := range files {
		text, failed := os.ReadFile(file)
		err = errors.Join(err, failed)
		line, _, _ := strings.Cut(string(text), "\n")
		if line = strings.TrimSpace(line); line != "" {
			libraries = append(libraries, line)
		}
	}
	return libraries, err
}

// loadDriver loads a driver, and returns its function that lists platforms. A driver exports one function, which finds the
// others by name.
func loadDriver(library string) (platforms uintptr, err error) {
	handle, err := purego.Dlopen(library, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return 0, err
	}
	byName, err := purego.Dlsym(handle, "clGetExtensionFunctionAddress")
	if err != nil {
		return 0, err
	}
	platforms, _, _ = purego.SyscallN(byName, uintptr(address([]byte("clIcdGetPlatformIDsKHR\x00"))))
	if platforms == 0 {
		return 0, errors.New("the library is no OpenCL driver: it lacks clIcdGetPlatformIDsKHR")
	}
	return platforms, nil
}
