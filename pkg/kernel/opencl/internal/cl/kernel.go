//go:build opencl && linux

package cl

import "unsafe"

// Kernel is a function of the program that the device runs in many lanes.
type Kernel struct {
	context *Context
	handle  uintptr
	status  int32
	event   uintptr
	word    uint32 // of SetWord
	buffer  uintptr
	lanes   uint64
	group   uint64
}

// NewKernel returns the kernel of that name.
func (c *Context) NewKernel(name string) (*Kernel, error) {
	text := append([]byte(name), 0)
	handle, err := c.functions.create(createKernel, &c.status, c.program, uintptr(address(text)), uintptr(unsafe.Pointer(&c.status)))
	if err != nil {
		return nil, err
	}
	c.kernels = append(c.kernels, handle)
	return &Kernel{context: c, handle: handle}, nil
}

// GroupSize returns the most lanes that a work-group of the kernel can have on the device.
func (k *Kernel) GroupSize() (int, error) {
	const workGroupSize = 0x11b0 // CL_KERNEL_WORK_GROUP_SIZE
	var size uint64
	err := k.context.functions.call(getKernelWorkGroupInfo, k.handle, k.context.device, workGroupSize, 8, uintptr(unsafe.Pointer(&size)), 0)
	return int(min(size, 1<<30)), err
}

// SetBuffer sets an argument that points to a buffer.
func (k *Kernel) SetBuffer(index int, b Buffer) error {
	k.buffer = b.handle
	return k.setArgument(index, 8, unsafe.Pointer(&k.buffer))
}

// SetWord sets an argument of 32 bits.
func (k *Kernel) SetWord(index int, word uint32) error {
	k.word = word
	return k.setArgument(index, 4, unsafe.Pointer(&k.word))
}

// SetLocal sets an argument that points to local memory of each work-group.
func (k *Kernel) SetLocal(index, bytes int) error {
	return k.setArgument(index, bytes, nil)
}

func (k *Kernel) setArgument(index, bytes int, value unsafe.Pointer) error {
	return k.context.repeat(setKernelArg, k.handle, uintptr(index), uintptr(bytes), uintptr(value), 0, 0, 0, 0, 0)
}

// Enqueue appends the kernel to the queue, in a number of lanes, a multiple of the size of a work-group.
func (k *Kernel) Enqueue(lanes, group int) error { return k.enqueue(lanes, group, nil) }

// Start is Enqueue, and starts what is in the queue. [Kernel.Done] reports the end of the kernel; no
// second Start may come before that.
func (k *Kernel) Start(lanes, group int) error {
	if err := k.enqueue(lanes, group, &k.event); err != nil {
		return err
	}
	live.Add(1)
	if err := k.context.repeat(flush, k.context.queue, 0, 0, 0, 0, 0, 0, 0, 0); err != nil {
		_ = k.release() // the first error says more
		return err
	}
	return nil
}

func (k *Kernel) enqueue(lanes, group int, event *uintptr) error {
	k.lanes, k.group = uint64(lanes), uint64(group)
	return k.context.repeat(enqueueNDRangeKernel, k.context.queue, k.handle, 1, 0,
		uintptr(unsafe.Pointer(&k.lanes)), uintptr(unsafe.Pointer(&k.group)), 0, 0, uintptr(unsafe.Pointer(event)))
}

// Done reports whether the kernel has ended, and with which error. It does not wait: drivers spin while
// they wait.
func (k *Kernel) Done() (bool, error) {
	const executionStatus = 0x11d3 // CL_EVENT_COMMAND_EXECUTION_STATUS
	if err := k.context.repeat(getEventInfo, k.event, executionStatus, 4, uintptr(unsafe.Pointer(&k.status)), 0, 0, 0, 0, 0); err != nil {
		_ = k.release() // the first error says more
		return true, err
	}
	if k.status > success {
		return false, nil
	}
	if err := k.release(); err != nil || k.status == success {
		return true, err
	}
	return true, Error{enqueueNDRangeKernel, Status(k.status)}
}

// release releases the event of the last Start.
func (k *Kernel) release() error {
	live.Add(-1)
	return k.context.repeat(releaseEvent, k.event, 0, 0, 0, 0, 0, 0, 0, 0)
}
