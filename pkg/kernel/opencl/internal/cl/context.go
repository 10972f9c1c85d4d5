//go:build opencl && linux

package cl

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"unsafe"

	"github.com/ebitengine/purego"
)

// Context has a device and a queue of commands, which run one after the other. [Context.Close]
// releases everything that the context has created. After a call that fails, the context makes no
// other call until Close, and [Context.Err] returns the error.
type Context struct {
	caller
	device, context, queue, program uintptr
	objects                         []object // in the order in which they were created

	// Arguments of calls point to these fields.
	event        uintptr // event of the last command of [Context.Start]
	word         uint32
	buffer       Buffer
	lanes, group uint64
}

// ErrRejected says that the source of a program has an error, or uses what the driver's compiler
// does not know.
var ErrRejected = errors.New("the driver's compiler rejects the kernel")

// object is an object of OpenCL, with the function that releases it.
type object struct {
	release function
	handle  uintptr
}

// Buffer is memory of the device.
type Buffer uintptr

// Kernel is a function of the program that the device runs in many lanes.
type Kernel uintptr

// NewContext returns a context for a device, and builds the program from its source. [Context.Err]
// says whether that failed.
func NewContext(d Device, source string) *Context {
	c := &Context{caller: caller{functions: d.functions}, device: d.id}
	c.context = c.create(createContext, releaseContext, 0, 1, uintptr(unsafe.Pointer(&c.device)), 0, 0)
	c.queue = c.create(createCommandQueue, releaseCommandQueue, c.context, c.device, 0)
	c.build([]byte(source))
	return c
}

// Err returns the error of the call that has failed, nil if none has.
func (c *Context) Err() error { return c.err }

// create calls a function that returns an object. It adds the last argument, which points to a
// status.
//
//go:uintptrescapes
func (c *Context) create(f, release function, args ...uintptr) uintptr {
	if c.err != nil {
		return 0
	}
	handle, _, _ := purego.SyscallN(c.functions[f.index],
		append(args, uintptr(unsafe.Pointer(&c.status)))...)
	if c.status != success {
		c.err = Error{f.name, c.status}
		return 0
	}
	c.objects = append(c.objects, object{release, handle})
	live.Add(1)
	return handle
}

// build builds the program.
func (c *Context) build(source []byte) {
	line, length, options := unsafe.SliceData(source), len(source), []byte("-cl-std=CL1.2\x00")
	var pin runtime.Pinner // C reads a pointer to a pointer
	defer pin.Unpin()
	pin.Pin(line)
	c.program = c.create(createProgramWithSource, releaseProgram, c.context, 1,
		uintptr(unsafe.Pointer(&line)), uintptr(unsafe.Pointer(&length)))
	c.call(buildProgram, c.program, 1, uintptr(unsafe.Pointer(&c.device)), uintptr(address(options)),
		0, 0)
	if errors.Is(c.err, Error{buildProgram.name, buildFailed}) {
		c.err = nil
		log := c.buildLog()
		c.err = fmt.Errorf("%w; its log:\n%s", ErrRejected, log)
	}
}

// buildLog returns the first part of the compiler's log, or nothing if the log is longer than 1
// MiB.
func (c *Context) buildLog() string {
	const log = 0x1183 // CL_PROGRAM_BUILD_LOG
	var size int
	c.call(getProgramBuildInfo, c.program, c.device, log, 0, 0, uintptr(unsafe.Pointer(&size)))
	text := make([]byte, min(size, 1<<20))
	c.call(getProgramBuildInfo, c.program, c.device, log, uintptr(len(text)), uintptr(address(text)),
		0)
	return cText(text[:min(len(text), 4000)])
}

// NewBuffer allocates memory of the device. A driver may delay this until the buffer is first used.
func (c *Context) NewBuffer(bytes int) Buffer {
	const readWrite = 1
	return Buffer(c.create(createBuffer, releaseMemObject, c.context, readWrite, uintptr(bytes), 0))
}

// Write copies memory to the beginning of a buffer, and waits for the copy.
func Write[T any](c *Context, to Buffer, from []T) { WriteAt(c, to, 0, from) }

// WriteAt does the same to the elements of a buffer from the given one on.
func WriteAt[T any](c *Context, to Buffer, first int, from []T) {
	transfer(c, enqueueWriteBuffer, to, first, from)
}

// Read waits for all commands before it, and copies the beginning of a buffer to memory.
func Read[T any](c *Context, to []T, from Buffer) { transfer(c, enqueueReadBuffer, from, 0, to) }

func transfer[T any](c *Context, f function, b Buffer, first int, memory []T) {
	const blocking = 1
	size := unsafe.Sizeof(*new(T))
	from, bytes := uintptr(first)*size, uintptr(len(memory))*size
	c.repeat(f, c.queue, uintptr(b), blocking, from, bytes, uintptr(address(memory)), 0)
}

// NewKernel returns the kernel of that name, whose first arguments are these buffers.
func (c *Context) NewKernel(name string, buffers ...Buffer) Kernel {
	k := Kernel(c.create(createKernel, releaseKernel, c.program,
		uintptr(address([]byte(name+"\x00")))))
	for i, b := range buffers {
		c.buffer = b
		c.setArgument(k, i, 8, unsafe.Pointer(&c.buffer))
	}
	return k
}

// SetWord sets an argument of 32 bits.
func (c *Context) SetWord(k Kernel, index int, word uint32) {
	c.word = word
	c.setArgument(k, index, 4, unsafe.Pointer(&c.word))
}

// SetLocal sets an argument that points to local memory of each work-group.
func (c *Context) SetLocal(k Kernel, index, bytes int) { c.setArgument(k, index, bytes, nil) }

func (c *Context) setArgument(k Kernel, index, bytes int, value unsafe.Pointer) {
	c.repeat(setKernelArg, uintptr(k), uintptr(index), uintptr(bytes), uintptr(value), 0, 0, 0)
}

// Enqueue appends a kernel to the queue, to run in the given number of lanes, which is a multiple
// of the size of a work-group.
func (c *Context) Enqueue(k Kernel, lanes, group int) { c.enqueue(k, lanes, group, nil) }

// Start appends a kernel to the queue as Enqueue does, and starts what is in the queue. It must not
// be called again before [Context.Done] has reported the end of the kernel.
func (c *Context) Start(k Kernel, lanes, group int) {
	c.enqueue(k, lanes, group, &c.event)
	if c.err == nil {
		live.Add(1)
	}
	c.repeat(flush, c.queue, 0, 0, 0, 0, 0, 0)
}

func (c *Context) enqueue(k Kernel, lanes, group int, event *uintptr) {
	c.lanes, c.group = uint64(lanes), uint64(group)
	c.repeat(enqueueNDRangeKernel, c.queue, uintptr(k), 1, 0,
		uintptr(unsafe.Pointer(&c.lanes)), uintptr(unsafe.Pointer(&c.group)),
		uintptr(unsafe.Pointer(event)))
}

// Done reports whether the kernel of Start has ended, or the kernel or a call has failed. It does
// not wait, because drivers spin while they wait.
func (c *Context) Done() bool {
	const executionStatus = 0x11d3 // CL_EVENT_COMMAND_EXECUTION_STATUS
	c.repeat(getEventInfo, c.event, executionStatus, 4, uintptr(unsafe.Pointer(&c.status)), 0, 0, 0)
	if c.err == nil && c.status > success {
		return false
	}
	if c.err == nil && c.status < success {
		c.err = Error{enqueueNDRangeKernel.name, c.status}
	}
	if c.event != 0 {
		c.release(releaseEvent, c.event)
		c.event = 0
	}
	return true
}

// Close waits for the commands in the queue and releases everything that the context has created.
func (c *Context) Close() error {
	c.err = nil
	if c.queue != 0 {
		c.call(finish, c.queue)
	}
	for _, o := range slices.Backward(c.objects) {
		c.release(o.release, o.handle)
	}
	return c.err
}
