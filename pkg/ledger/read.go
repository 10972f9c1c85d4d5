package ledger

import (
	"bufio"
	"cmp"
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

// ErrDamaged says that a log has damage that is neither a torn group at its end nor a result alone. It is wrapped with file
// and offset.
var ErrDamaged = errors.New("damaged")

// What is wrong with a log.
var (
	errFrame  = errors.New("a frame that does not check")
	errTorn   = fmt.Errorf("more than the %d bytes of the largest group do not check", maxGroup)
	errHeader = errors.New("it does not begin with one header")
)

// Load reads and folds the log of a run. It needs no lock: beside a writer it reads what was written when it began. The error
// wraps [ErrDamaged], or is of the file system, or says that the log is of another run.
func Load(path string) (s *State, n Notes, err error) {
	err = view(path, func(log *io.SectionReader) error {
		if s, n, err = Fold(log, path); err != nil {
			return err
		}
		return checkFolder(path, s.header)
	})
	return s, n, err
}

// Read calls each with every record of a log, the header first. A record is valid, and is overwritten by the next. The error
// is that of [Load], but for the run, or that of each.
func Read(path string, each func(Record) error) (err error) {
	unread := view(path, func(log *io.SectionReader) error {
		_, err := scan(log, path, func(r Record) bool { err = each(r); return err == nil })
		return err
	})
	return cmp.Or(err, unread)
}

// view calls f with a log as it is now.
func view(path string, f func(log *io.SectionReader) error) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // it is only read
	info, err := file.Stat()
	if err != nil {
		return err
	}
	return f(io.NewSectionReader(file, 0, info.Size()))
}

// checkFolder returns an error unless a log is in the folder of its run.
func checkFolder(path string, h *Header) error {
	path, err := filepath.Abs(path)
	if folder := filepath.Dir(path); err == nil && filepath.Base(folder) != h.Run {
		err = fmt.Errorf("the ledger in %s is that of run %s: give the folder that name", folder, h.Run)
	}
	return err
}

// Fold does what [Load] does, with a log that is nowhere in particular; errors contain its name.
func Fold(log *io.SectionReader, name string) (*State, Notes, error) {
	var s *State
	n, err := scan(log, name, func(r Record) bool {
		if h, ok := r.(*Header); ok {
			s = NewState(h)
			s.stale = true // until all records are applied
		} else {
			s.apply(r)
		}
		return true
	})
	if err != nil {
		return nil, n, err
	}
	s.settle()
	return s, n, nil
}

// largest is the size of the largest frame.
const largest = frameSize + maxPayload

// scan calls each with the records of a log until it returns false. It is the only place that tells damage from an end.
func scan(log *io.SectionReader, name string, each func(Record) bool) (n Notes, err error) {
	size := log.Size()
	in := bufio.NewReaderSize(log, int(min(2*largest, size)))
	d := newDecoder()
	for {
		next, err := in.Peek(int(min(largest, size-n.Size)))
		if err != nil {
			return n, fmt.Errorf("read the ledger %s: %w", name, err)
		}
		f, whole := parseFrame(next)
		if whole && f.checks {
			var r Record
			r, err = d.decode(f)
			if (n.Size == 0) != (f.kind == headerKind) {
				err = errHeader
			}
			if err == nil && !each(r) {
				return n, nil
			}
		} else {
			err = n.judge(log, &f, whole)
		}
		switch {
		case errors.Is(err, ErrFormat):
			return n, fmt.Errorf("the ledger %s: %w", name, err)
		case err != nil:
			return n, fmt.Errorf("the ledger %s is %w at offset %d: %w: copy an earlier state of the folder back, or count again with --new", name, ErrDamaged, n.Size, err)
		case n.Torn > 0:
			return n, nil
		}
		n.Size += f.size()
		_, _ = in.Discard(int(f.size())) // it is in the buffer
		if n.Size == size {
			return n, nil
		}
	}
}

// judge notes what a frame that does not check means, and returns an error if nothing may be read any more. If no whole frame
// ends the log, the bytes from this frame on are a group that was not written as a whole. Otherwise a result is left out.
func (n *Notes) judge(log *io.SectionReader, f *frame, whole bool) error {
	left := log.Size() - n.Size
	end, err := tail(log, min(left, largest))
	if err != nil {
		return err
	}
	_, hasEnd := parseLast(end)
	switch {
	case n.Size == 0 && !hasEnd:
		return errHeader
	case left > maxGroup && !hasEnd:
		return errTorn
	case !hasEnd:
		n.Torn = left
	case whole && f.kind == resultKind:
		n.Dropped = append(n.Dropped, n.Size)
	default:
		return errFrame
	}
	return nil
}

// tail returns the last bytes of a log.
func tail(log *io.SectionReader, size int64) ([]byte, error) {
	b := make([]byte, size)
	_, err := io.ReadFull(io.NewSectionReader(log, log.Size()-size, size), b)
	return b, err
}

// Last is what a log tells without reading all of it.
type Last struct {
	Header *Header
	// Mark is the last one, among the last million bytes; nil if there is none, as before the first.
	Mark *Mark
	// State is that of the mark if the log ends with it, else [queens.Running].
	State queens.State
}

// ReadLast reads the header and the last mark of a log. It trusts the checksums, and reads no counts.
func ReadLast(path string) (l Last, err error) {
	l.State = queens.Running
	err = view(path, func(log *io.SectionReader) error {
		begin := io.NewSectionReader(log, 0, min(log.Size(), largest))
		_, err := scan(begin, path, func(r Record) bool {
			l.Header = r.(*Header)
			return false
		})
		if err != nil {
			return err
		}
		end, err := tail(log, min(log.Size(), 1<<20))
		if err != nil {
			return err
		}
		l.findMark(end)
		return checkFolder(path, l.Header)
	})
	return l, err
}

// findMark walks from the end to the last mark, and skips bytes that do not check.
func (l *Last) findMark(b []byte) {
	for end := len(b); end >= frameSize; {
		f, ok := parseLast(b[:end])
		switch {
		case !ok:
			end--
		case f.kind != markKind:
			end -= int(f.size())
		default:
			d := decoder{header: l.Header}
			if r, err := d.decode(f); err == nil {
				l.Mark = r.(*Mark)
			}
			if l.Mark != nil && end == len(b) {
				l.State = l.Mark.State
			}
			return
		}
	}
}
