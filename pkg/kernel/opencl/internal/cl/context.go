//go:build opencl && linux

package cl

import (
	"errors"
	"fmt"
	"runtime"
	"unsafe"

	"github.com/ebitengine/purego"
)

// Context holds a device with a queue of commands, which run one after the other. All that a context
// creates belongs to it: [Context.Close] releases it.
type Context struct {
	functions *table
	device    uintptr
	context   uintptr
	queue     uintptr
	program   uintptr
	kernels   []uintptr
	buffers   []uintptr
	status    int32 // of the last call that creates an object
	args      [9]uintptr
}

// repeat is call of a table for the calls that a search repeats: it does not allocate. The function may
// have fewer arguments; it ignores the others. Commands wait for no event, so that their arguments 6 and 7
// are 0. A variadic function would allocate, because the arguments of a function with uintptrescapes are
// on the heap: so they are copied to an array that is there.
//
//go:uintptrescapes
func (c *Context) repeat(f function, a0, a1, a2, a3, a4, a5, event uintptr) error {
	c.args = [...]uintptr{a0, a1, a2, a3, a4, a5, 0, 0, event}
	if status, _, _ := purego.SyscallN(c.functions[f.index], c.args[:]...); int32(status) != success {
		return Error{f, Status(int32(status))}
	}
	return nil
}

// NewContext returns a context of a device.
func NewContext(d Device) (*Context, error) {
	c := &Context{functions: d.functions, device: d.id}
	var err error
	c.context, err = c.functions.create(createContext, &c.status, 0, 1, uintptr(unsafe.Pointer(&c.device)), 0, 0, uintptr(unsafe.Pointer(&c.status)))
	if err != nil {
		return nil, err
	}
	c.queue, err = c.functions.create(createCommandQueue, &c.status, c.context, c.device, 0, uintptr(unsafe.Pointer(&c.status)))
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// Close waits for the commands in the queue and releases everything that the context has created.
func (c *Context) Close() error {
	var err error
	if c.queue != 0 {
		err = c.functions.call(finish, c.queue)
	}
	for _, b := range c.buffers {
		err = errors.Join(err, c.functions.release(releaseMemObject, b))
	}
	for _, k := range c.kernels {
		err = errors.Join(err, c.functions.release(releaseKernel, k))
	}
	return errors.Join(err,
		c.functions.release(releaseProgram, c.program),
		c.functions.release(releaseCommandQueue, c.queue),
		c.functions.release(releaseContext, c.context))
}

// BuildError is the failure to build a program, with the compiler's log.
type BuildError struct{ Log string }

func (e BuildError) Error() string {
	return "the driver's compiler rejects the kernel; its log:\n" + e.Log
}

// Build builds the program of the context, once.
func (c *Context) Build(text, options string) error {
	source, flags := []byte(text), append([]byte(options), 0)
	line, length := unsafe.SliceData(source), uint64(len(source))
	var pin runtime.Pinner // C reads a pointer to a pointer
	defer pin.Unpin()
	pin.Pin(line)
	var err error
	c.program, err = c.functions.create(createProgramWithSource, &c.status,
		c.context, 1, uintptr(unsafe.Pointer(&line)), uintptr(unsafe.Pointer(&length)), uintptr(unsafe.Pointer(&c.status)))
	if err != nil {
		return err
	}
	err = c.functions.call(buildProgram, c.program, 1, uintptr(unsafe.Pointer(&c.device)), uintptr(address(flags)), 0, 0)
	var failure Error
	if errors.As(err, &failure) && failure.Status == BuildFailed {
		return BuildError{c.buildLog()}
	}
	return err
}

// buildLog returns the first part of the compiler's log.
func (c *Context) buildLog() string {
	const log = 0x1183 // CL_PROGRAM_BUILD_LOG
	var size uint64
	if err := c.functions.call(getProgramBuildInfo, c.program, c.device, log, 0, 0, uintptr(unsafe.Pointer(&size))); err != nil {
		return err.Error()
	}
	const most = 1 << 20
	if size > most {
		return fmt.Sprintf("a log of %d bytes", size)
	}
	text := make([]byte, size)
	if err := c.functions.call(getProgramBuildInfo, c.program, c.device, log, uintptr(size), uintptr(address(text)), 0); err != nil {
		return err.Error()
	}
	return cText(text[:min(len(text), 4000)])
}

// Buffer is memory of the device.
type Buffer struct {
	handle uintptr
	Bytes  int
}

// NewBuffer allocates memory of the device. A driver may allocate only when the buffer is first used.
func (c *Context) NewBuffer(bytes int) (Buffer, error) {
	const readWrite = 1
	handle, err := c.functions.create(createBuffer, &c.status, c.context, readWrite, uintptr(bytes), 0, uintptr(unsafe.Pointer(&c.status)))
	if err != nil {
		return Buffer{}, err
	}
	c.buffers = append(c.buffers, handle)
	return Buffer{handle, bytes}, nil
}

// Write copies to the beginning of a buffer, and returns when it has.
func Write[T any](c *Context, to *Buffer, from []T) error {
	bytes := len(from) * int(unsafe.Sizeof(*new(T)))
	if bytes == 0 {
		return nil
	}
	if bytes > to.Bytes {
		panic("cl: a write beyond a buffer")
	}
	const blocking = 1
	return c.repeat(enqueueWriteBuffer, c.queue, to.handle, blocking, 0, uintptr(bytes), uintptr(address(from)), 0)
}

// Read copies the beginning of a buffer, after all commands before it.
func Read[T any](c *Context, to []T, from *Buffer) error {
	bytes := len(to) * int(unsafe.Sizeof(*new(T)))
	if bytes == 0 {
		return nil
	}
	if bytes > from.Bytes {
		panic("cl: a read beyond a buffer")
	}
	const blocking = 1
	return c.repeat(enqueueReadBuffer, c.queue, from.handle, blocking, 0, uintptr(bytes), uintptr(address(to)), 0)
}
