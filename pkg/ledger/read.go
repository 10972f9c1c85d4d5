package ledger

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"nqueens/pkg/queens"
)

// Notes say what a reader has found besides records.
type Notes struct {
	Size    int64   // of the whole frames from the start, in bytes
	Dropped []int64 // offsets of results whose payload is damaged: their tasks are counted again
	Torn    int64   // bytes after the whole frames: a group that was not written as a whole
}

// DamagedError says that a log has damage that is neither a torn group at its end nor a result alone.
type DamagedError struct {
	Path   string
	Offset int64
	Err    error
}

// Error names the file and the offset.
func (e *DamagedError) Error() string {
	return fmt.Sprintf("the ledger %s is damaged at offset %d: %v: copy an earlier state of the folder back, or count again with --new", e.Path, e.Offset, e.Err)
}

// Unwrap returns what is wrong at the offset.
func (e *DamagedError) Unwrap() error { return e.Err }

// What is wrong with a log.
var (
	errFrame  = errors.New("a frame that does not check")
	errTorn   = fmt.Errorf("more than the %d bytes of the largest group do not check", maxGroup)
	errHeader = errors.New("it does not begin with one header")
)

// Read reads the log of a run from its start, and calls each with every record, the header first. A record is valid
// until the next. It needs no lock: beside a writer it reads what was written when it began. The error is a
// [DamagedError], that of each, or of the file system.
func Read(path string, each func(Record) error) (Notes, error) {
	file, err := os.Open(path)
	if err != nil {
		return Notes{}, err
	}
	defer func() { _ = file.Close() }() // it is only read
	info, err := file.Stat()
	if err != nil {
		return Notes{}, err
	}
	return Scan(file, info.Size(), path, func(r Record) error {
		if h, ok := r.(*Header); ok {
			if err := checkFolder(path, h); err != nil {
				return err
			}
		}
		return each(r)
	})
}

// checkFolder returns an error unless a log is in the folder of its run.
func checkFolder(path string, h *Header) error {
	path, err := filepath.Abs(path)
	if folder := filepath.Dir(path); err == nil && filepath.Base(folder) != h.Run {
		err = fmt.Errorf("the ledger in %s is that of run %s: give the folder that name", folder, h.Run)
	}
	return err
}

// Scan does what [Read] does, with a log of that size that is nowhere in particular; errors contain its name.
func Scan(log io.ReaderAt, size int64, name string, each func(Record) error) (n Notes, err error) {
	const largest = frameSize + maxPayload
	in := bufio.NewReaderSize(io.NewSectionReader(log, 0, size), int(min(2*largest, size)))
	decoder := new(decoder)
	for n.Size < size {
		next, err := in.Peek(int(min(largest, size-n.Size)))
		if err != nil {
			return n, fmt.Errorf("read the ledger %s: %w", name, err)
		}
		f, ok := parseFrame(next)
		if !ok || !f.checks() {
			torn, err := isTorn(log, n.Size, size)
			if torn || err != nil {
				n.Torn = size - n.Size
				return n, wrapDamage(name, n.Size, err)
			}
			if !ok || f.kind != resultKind {
				return n, wrapDamage(name, n.Size, errFrame)
			}
			n.Dropped = append(n.Dropped, n.Size)
		} else {
			r, err := decoder.decode(f.kind, f.payload)
			if (n.Size == 0) != (f.kind == headerKind) {
				err = errHeader
			}
			if err != nil {
				return n, wrapDamage(name, n.Size, err)
			}
			if err := each(r); err != nil {
				return n, err
			}
		}
		n.Size += f.size()
		_, _ = in.Discard(int(f.size())) // it is in the buffer
	}
	if n.Size == 0 {
		return n, wrapDamage(name, 0, errHeader)
	}
	return n, nil
}

// wrapDamage returns a [DamagedError], unless err is nil or says that the log has another format.
func wrapDamage(name string, offset int64, err error) error {
	switch {
	case errors.Is(err, ErrFormat):
		return fmt.Errorf("the ledger %s: %w", name, err)
	case err != nil:
		return &DamagedError{name, offset, err}
	}
	return nil
}

// isTorn reports whether no whole frame ends the log. Then the bytes from offset on are a group that was not written as a
// whole. The error says that they are more than the largest group, or the whole log.
func isTorn(log io.ReaderAt, offset, size int64) (bool, error) {
	end := make([]byte, min(size-offset, frameSize+maxPayload))
	if _, err := log.ReadAt(end, size-int64(len(end))); err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	if _, whole := parseLast(end); whole {
		return false, nil
	}
	if offset == 0 {
		return false, errHeader
	}
	if size-offset > maxGroup {
		return false, errTorn
	}
	return true, nil
}

// Load reads and folds the log of a run.
func Load(path string) (*State, Notes, error) {
	return fold(path, func(each func(Record) error) (Notes, error) { return Read(path, each) })
}

// Fold does what [Load] does, with a log as [Scan] takes it.
func Fold(log io.ReaderAt, size int64, name string) (*State, Notes, error) {
	return fold(name, func(each func(Record) error) (Notes, error) { return Scan(log, size, name, each) })
}

func fold(name string, read func(each func(Record) error) (Notes, error)) (*State, Notes, error) {
	var s *State
	var invalid error
	notes, err := read(func(r Record) error {
		if h, ok := r.(*Header); ok {
			s = NewState(h)
			return nil
		}
		invalid = s.Add(r)
		return invalid
	})
	if invalid != nil {
		err = wrapDamage(name, notes.Size, invalid)
	}
	if err != nil {
		return nil, notes, err
	}
	return s, notes, nil
}

// Last is what a log tells without reading all of it.
type Last struct {
	Header *Header
	// Mark is the last one, among the last million bytes; nil if there is none, as before the first.
	Mark *Mark
	// Ended is the state with which the run has ended; empty if the log goes on after the mark, or the mark says running.
	Ended queens.State
}

// ReadLast reads the header and the last mark of a log. It trusts the checksums, and reads no counts.
func ReadLast(path string) (l Last, err error) {
	file, err := os.Open(path)
	if err != nil {
		return l, err
	}
	defer func() { _ = file.Close() }() // it is only read
	info, err := file.Stat()
	if err != nil {
		return l, err
	}
	f, err := readHeader(file)
	if err == nil {
		l.Header, err = decodeHeader(f.payload)
	}
	if err != nil {
		return l, wrapDamage(path, 0, err)
	}
	if err := checkFolder(path, l.Header); err != nil {
		return l, err
	}
	for most := int64(1 << 16); l.Mark == nil && most <= 1<<20; most *= 16 {
		end := make([]byte, min(info.Size()-f.size(), most))
		if _, err := file.ReadAt(end, info.Size()-int64(len(end))); err != nil {
			return l, err
		}
		l.findMark(end)
	}
	return l, nil
}

// readHeader reads the first frame of a log.
func readHeader(file io.Reader) (f frame, err error) {
	head := make([]byte, headSize)
	if _, err := io.ReadFull(file, head); err != nil {
		return f, errHeader
	}
	k, length, ok := parseHead(head)
	if !ok || k != headerKind {
		return f, errHeader
	}
	rest := make([]byte, length+tailSize)
	if _, err := io.ReadFull(file, rest); err != nil {
		return f, errHeader
	}
	if f, ok = parseFrame(append(head, rest...)); !ok || !f.checks() {
		return f, errHeader
	}
	return f, nil
}

// findMark walks from the end to the last mark, and skips bytes that do not check.
func (l *Last) findMark(b []byte) {
	for end := len(b); end >= frameSize; {
		f, ok := parseLast(b[:end])
		if !ok {
			end--
			continue
		}
		if f.kind == markKind {
			m := new(Mark)
			if decodeJSON(f.payload, m) != nil || m.Done > l.Header.Manifest.Tasks {
				return
			}
			l.Mark = m
			if end == len(b) && m.State != queens.Running {
				l.Ended = m.State
			}
			return
		}
		end -= int(f.size())
	}
}
