//go:build opencl && linux

package cl

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"unsafe"

	"github.com/ebitengine/purego"
)

// This package loads drivers itself, as a loader (libOpenCL.so.1) would, because many containers
// have no loader.

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
	IsGPU        bool
	Units        int    // compute units
	Clock        int    // MHz at most, as the driver says; 0 if it does not
	GroupSize    int    // the most lanes of a work-group
	Memory       uint64 // bytes of global memory
	LocalMemory  int    // bytes for a work-group, at most 1 GiB
	Major, Minor int    // compute capability of NVIDIA's devices; 0 for others
}

// maxPlatforms and maxDevices limit the platforms of a driver and the devices of a platform.
// Further ones are left out.
const (
	maxPlatforms = 64
	maxDevices   = 256
)

// listing is held while devices are listed: the driver of PoCL 3.1 crashes if two threads list them
// at the same time.
var listing sync.Mutex

// Devices loads the drivers of this machine and returns their devices, at least one if there is no
// error: see [inOrder] for their order. A driver that can't be loaded, lists no platform or has no
// device is left out, and so is a platform that fails. The error says why no device is left.
func Devices() (devices []Device, err error) {
	listing.Lock()
	defer listing.Unlock()
	drivers, err := load()
	for _, list := range drivers {
		var platforms [maxPlatforms]uintptr
		var n uint32
		if status, _, _ := purego.SyscallN(list, maxPlatforms, uintptr(unsafe.Pointer(&platforms)),
			uintptr(unsafe.Pointer(&n))); int32(status) != success {
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
		return nil, errors.Join(
			errors.New("no OpenCL device on this machine: install its driver, which "+defaultVendors+
				" must name"), err)
	}
	return inOrder(devices), nil
}

// LeftOut returns an error that says which drivers of this machine can't be loaded, and why; nil if
// there are none.
func LeftOut() error {
	_, err := load()
	return err
}

// inOrder sorts devices: GPUs before others, and faster ones first. Equal ones keep the order of
// their drivers. The speed is an estimate: units times clock times the lanes that a unit runs at a
// time.
func inOrder(devices []Device) []Device {
	slices.SortStableFunc(devices, func(a, b Device) int {
		return cmp.Or(cmp.Compare(b.Class(), a.Class()), cmp.Compare(b.speed(), a.speed()))
	})
	return devices
}

// Class is the greater, the better a kind of device suits the search: GPUs have the greatest,
// devices that can't be used 0.
func (d *Device) Class() int {
	switch {
	case !d.Available:
		return 0
	case d.IsCPU:
		return 1
	case !d.IsGPU:
		return 2
	}
	return 3
}

func (d *Device) speed() int {
	lanes := 64 // of NVIDIA and AMD
	if strings.Contains(d.Vendor, "Intel") {
		lanes = 8
	}
	return d.Units * max(d.Clock, 1) * lanes
}

// devicesOf returns the devices of a platform.
func devicesOf(platform uintptr) (devices []Device, err error) {
	c := &caller{functions: tableOf(platform)}
	name := c.text(getPlatformInfo, platform, 0x0902) // CL_PLATFORM_NAME
	const all, cpu, gpu = 0xffffffff, 1 << 1, 1 << 2
	var ids [maxDevices]uintptr
	var n uint32
	c.call(getDeviceIDs, platform, all, maxDevices, uintptr(unsafe.Pointer(&ids)),
		uintptr(unsafe.Pointer(&n)))
	for _, id := range ids[:min(n, maxDevices)] {
		kind := c.number(id, 0x1000) // CL_DEVICE_TYPE
		d := Device{
			functions: c.functions,
			id:        id,
			Name:      c.text(getDeviceInfo, id, 0x102b),                      // CL_DEVICE_NAME
			Vendor:    c.text(getDeviceInfo, id, 0x102c),                      // CL_DEVICE_VENDOR
			Driver:    name + ", driver " + c.text(getDeviceInfo, id, 0x102d), // CL_DRIVER_VERSION
			// CL_DEVICE_AVAILABLE, CL_DEVICE_COMPILER_AVAILABLE
			Available:   c.number(id, 0x1027) != 0 && c.number(id, 0x1028) != 0,
			IsCPU:       kind&cpu != 0,
			IsGPU:       kind&gpu != 0,
			Units:       int(c.number(id, 0x1002)),             // CL_DEVICE_MAX_COMPUTE_UNITS
			Clock:       int(c.number(id, 0x100c)),             // CL_DEVICE_MAX_CLOCK_FREQUENCY
			GroupSize:   int(min(c.number(id, 0x1004), 1<<30)), // CL_DEVICE_MAX_WORK_GROUP_SIZE
			Memory:      c.number(id, 0x101f),                  // CL_DEVICE_GLOBAL_MEM_SIZE
			LocalMemory: int(min(c.number(id, 0x1023), 1<<30)), // CL_DEVICE_LOCAL_MEM_SIZE
		}
		if c.err == nil && d.IsNVIDIA() {
			// CL_DEVICE_COMPUTE_CAPABILITY_MAJOR_NV and _MINOR_NV
			d.Major, d.Minor = int(c.number(id, 0x4000)), int(c.number(id, 0x4001))
			c.err = nil // a driver without them
		}
		devices = append(devices, d)
	}
	return devices, c.err
}

// IsNVIDIA reports whether the maker is NVIDIA.
func (d *Device) IsNVIDIA() bool { return strings.Contains(d.Vendor, "NVIDIA") }

// IsAMD reports whether the maker is AMD.
func (d *Device) IsAMD() bool {
	return strings.Contains(d.Vendor, "Advanced Micro Devices") || strings.HasPrefix(d.Vendor, "AMD")
}

// load loads the drivers that the machine's .icd files name. For each driver it returns the
// function that lists platforms. The error says which drivers can't be loaded, and why. It loads
// once in a process, because drivers can't be unloaded safely.
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
	for _, m := range unnamed("/", libraries) {
		driver, failed := loadDriver(m.library)
		if failed != nil {
			err = errors.Join(err, MissingError{m.name, m.library, m.install})
			continue
		}
		drivers = append(drivers, driver)
	}
	return drivers, err
}

// maker has graphics drivers that work without their OpenCL library, or without the .icd file that
// names it.
type maker struct {
	name    string
	signs   []string // files of its driver, below /
	library string
	install string // what to install if the library is missing
}

var makers = []maker{
	{
		"NVIDIA", []string{"proc/driver/nvidia/version", "dev/nvidiactl"}, "libnvidia-opencl.so.1",
		"install the package of the driver's version that has it (Debian: nvidia-opencl-icd; " +
			"Ubuntu: libnvidia-compute-VERSION; Fedora: xorg-x11-drv-nvidia-cuda-libs); " +
			"in a container, set NVIDIA_DRIVER_CAPABILITIES=compute,utility",
	},
	{
		"AMD", []string{"dev/kfd"}, "libamdocl64.so",
		"install rocm-opencl-runtime (from AMD) or mesa-opencl-icd (from the distribution); " +
			"in a container, pass the devices /dev/kfd and /dev/dri",
	},
}

// unnamed returns the makers whose driver runs on this machine but whose library the .icd files do
// not name. The environment may have restricted the drivers: then there are none.
func unnamed(root string, named []string) (missing []maker) {
	if environmentVendors() != "" {
		return nil
	}
	for _, m := range makers {
		runs := slices.ContainsFunc(m.signs, func(sign string) bool {
			_, err := os.Stat(filepath.Join(root, sign))
			return err == nil
		})
		listed := slices.ContainsFunc(named, func(library string) bool {
			return filepath.Base(library) == m.library
		})
		if runs && !listed {
			missing = append(missing, m)
		}
	}
	return missing
}

// MissingError says that a maker's graphics driver runs on this machine, but its OpenCL library is
// missing.
type MissingError struct{ Maker, Library, Install string }

func (e MissingError) Error() string {
	return fmt.Sprintf("the driver of %s runs on this machine, but its OpenCL library %s is "+
		"missing: %s",
		e.Maker, e.Library, e.Install)
}

// environmentVendors returns the folder, file or library that the environment names instead of the
// .icd files, as for loaders.
func environmentVendors() string {
	return cmp.Or(os.Getenv("OCL_ICD_VENDORS"), os.Getenv("OPENCL_VENDOR_PATH"))
}

// driverLibraries returns the libraries that the .icd files name. As with loaders, the environment
// may name another folder, or a single file or library.
func driverLibraries() (libraries []string, err error) {
	where := cmp.Or(environmentVendors(), defaultVendors)
	files := []string{where}
	switch info, err := os.Stat(where); {
	case err == nil && info.IsDir():
		files, _ = filepath.Glob(filepath.Join(where, "*.icd")) // sorted; fails only for a bad pattern
	case where == defaultVendors:
		return nil, nil
	case !strings.HasSuffix(where, ".icd"):
		return files, nil
	}
	for _, file := range files {
		text, failed := os.ReadFile(file)
		err = errors.Join(err, failed)
		line, _, _ := strings.Cut(string(text), "\n")
		line = strings.TrimSpace(line)
		if line != "" {
			libraries = append(libraries, line)
		}
	}
	return libraries, err
}

// loadDriver loads a driver, and returns its function that lists platforms. A driver exports one
// function, which finds the others by name.
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
