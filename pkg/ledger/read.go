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

// Notes say what a reader has found in a log besides records.
type Notes struct {
	Size    int64   // of the log without a torn group, in bytes; after an error, the offset of the bad frame
	Dropped []int64 // offsets of results whose payload is damaged: they are left out
	Torn    int64   // bytes of a group at the end that was not written as a whole
}

// ErrDamaged says that a log can't be read because of damage. A torn group at the end and results with a damaged payload
// are not such damage: see [Notes]. The error names file and offset.
var ErrDamaged = errors.New("damaged")

// Reasons for ErrDamaged.
var (
	errFrame  = errors.New("a frame has a wrong checksum")
	errTorn   = fmt.Errorf("no whole frame ends it, and more than %d bytes, the largest group, have wrong checksums", maxGroup)
	errHeader = errors.New("it does not begin with one header")
)

// Load reads and folds the log of a run. It needs no lock: while another process writes, Load reads what the file had
// when Load began. The error wraps [ErrDamaged] or [ErrFormat], comes from the file system, or says that the folder has
// another name than the run.
func Load(path string) (s *State, n Notes, err error) {
	err = view(path, func(log *io.SectionReader) error {
		if s, n, err = Fold(log, path); err != nil {
			return err
		}
		return checkFolder(path, s.header)
	})
	return s, n, err
}

// Read calls a function with every record of a log, the header first. Read validates the records. It overwrites each result
// with the next one, so the function must not keep a result. Read stops at an error of the function, and returns it. Other
// errors are like those of [Load], but the folder may have any name.
func Read(path string, each func(Record) error) (err error) {
	unread := view(path, func(log *io.SectionReader) error {
		_, err := scan(log, path, func(r Record) bool {
			err = each(r)
			return err == nil
		})
		return err
	})
	return cmp.Or(err, unread)
}

// view calls f with the present content of a log.
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

// checkFolder returns an error unless the folder of a log has the name of its run.
func checkFolder(path string, h *Header) error {
	path, err := filepath.Abs(path)
	if folder := filepath.Dir(path); err == nil && filepath.Base(folder) != h.Run {
		err = fmt.Errorf("the ledger in %s belongs to run %s: give the folder that name", folder, h.Run)
	}
	return err
}

// Fold folds a log. It does not check the name of the folder. Errors call the log by the given name.
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

// scan calls a function with each record of a log until the function returns false. Only scan and judge say what damage means.
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
			const hint = "copy an earlier state of the folder back, or count again with --new"
			return n, fmt.Errorf("the ledger %s is %w at offset %d: %w: %s", name, ErrDamaged, n.Size, err, hint)
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

// judge decides what a damaged frame means. If the log ends with a whole frame, judge leaves out a result with a damaged
// payload, and returns an error for any other damaged frame. If the log does not, the damaged frame and all that follows is a
// torn group. Then judge returns an error if this group has the header, or is longer than the largest group.
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

// tail returns the given number of bytes at the end of a log.
func tail(log *io.SectionReader, size int64) ([]byte, error) {
	b := make([]byte, size)
	_, err := io.ReadFull(io.NewSectionReader(log, log.Size()-size, size), b)
	return b, err
}

// Last has the header and the last mark of a log.
type Last struct {
	Header *Header
	// Mark is the last mark. It is nil if there is none in the last MiB, such as in a new log.
	Mark *Mark
	// State is the state of the mark if the log ends with the mark, else [queens.Running].
	State queens.State
}

// ReadLast reads the header and the last mark of a log, and no counts.
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

// findMark searches b backward for the last mark, and skips bytes that belong to no whole frame.
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
