//go:build opencl && linux

package cl

import (
	"encoding/binary"
	"errors"
	"unsafe"
)

// Device is a device of a platform.
type Device struct {
	functions *table
	id        uintptr

	Platform             string // its name
	Name, Vendor, Driver string
	Available            bool   // it can run programs, and has a compiler
	IsCPU                bool   // its units are threads, not multiprocessors
	Units                uint32 // compute units
	GroupSize            uint64 // the most lanes of a work-group
	Memory               uint64 // bytes of global memory
	LargestBuffer        uint64 // bytes
	LocalMemory          uint64 // bytes for a work-group
}

// Devices returns the devices of a platform; there may be none.
func (p Platform) Devices() ([]Device, error) {
	const all = 0xffffffff
	var ids [maxDevices]uintptr
	var n uint32
	err := p.functions.call(getDeviceIDs, p.id, all, maxDevices, uintptr(unsafe.Pointer(&ids)), uintptr(unsafe.Pointer(&n)))
	var failure Error
	if errors.As(err, &failure) && failure.Status == DeviceNotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var devices []Device
	for _, id := range ids[:min(n, maxDevices)] {
		d := Device{functions: p.functions, id: id, Platform: p.Name}
		if err := d.describe(); err != nil {
			return nil, err
		}
		devices = append(devices, d)
	}
	return devices, nil
}

// describe asks the driver for the properties of a device.
func (d *Device) describe() error {
	i := inquiry{device: d}
	const cpu = 1 << 1
	d.IsCPU = i.number(0x1000)&cpu != 0                          // CL_DEVICE_TYPE
	d.Units = uint32(i.number(0x1002))                           // CL_DEVICE_MAX_COMPUTE_UNITS
	d.GroupSize = i.number(0x1004)                               // CL_DEVICE_MAX_WORK_GROUP_SIZE
	d.LargestBuffer = i.number(0x1010)                           // CL_DEVICE_MAX_MEM_ALLOC_SIZE
	d.Memory = i.number(0x101f)                                  // CL_DEVICE_GLOBAL_MEM_SIZE
	d.LocalMemory = i.number(0x1023)                             // CL_DEVICE_LOCAL_MEM_SIZE
	d.Available = i.number(0x1027) != 0 && i.number(0x1028) != 0 // CL_DEVICE_AVAILABLE, CL_DEVICE_COMPILER_AVAILABLE
	d.Name = cText(i.bytes(0x102b))                              // CL_DEVICE_NAME
	d.Vendor = cText(i.bytes(0x102c))                            // CL_DEVICE_VENDOR
	d.Driver = cText(i.bytes(0x102d))                            // CL_DRIVER_VERSION
	return i.err
}

// inquiry asks for properties of a device until one fails.
type inquiry struct {
	device *Device
	buffer [1024]byte
	err    error
}

func (i *inquiry) bytes(what uintptr) []byte {
	if i.err != nil {
		return nil
	}
	var size uint64
	i.err = i.device.functions.call(getDeviceInfo, i.device.id, what, uintptr(len(i.buffer)), uintptr(unsafe.Pointer(&i.buffer)), uintptr(unsafe.Pointer(&size)))
	return i.buffer[:min(size, uint64(len(i.buffer)))]
}

// number returns a property of 32 or 64 bits.
func (i *inquiry) number(what uintptr) uint64 {
	var word [8]byte
	copy(word[:], i.bytes(what))
	return binary.LittleEndian.Uint64(word[:])
}
