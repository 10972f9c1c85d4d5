package ledger

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"nqueens/pkg/durable"
	"nqueens/pkg/queens"
)

// Notes say what a reader has found in a log besides records.
type Notes struct {
	// of the log without a torn write, in bytes; after an error, the offset of the bad frame
	Size    int64
	Write   uint32  // number of the last write, modulo 2^32
	Dropped []int64 // offsets of results and marks whose payload is damaged: they are left out
	// offsets of frames whose head or tail is damaged: their records are read from the rest
	Mended []int64
	Torn   int64 // bytes of a write at the end that was not written as a whole
}

// ErrDamaged says that a log can't be read because of damage. What is in [Notes] is not such
// damage. The error names file and offset.
var ErrDamaged = errors.New("damaged")

// Reasons for ErrDamaged.
var (
	errFrame = errors.New("a frame has wrong checksums")
	errTorn  = fmt.Errorf("more than %d bytes, the largest write, have wrong checksums at the end",
		maxWrite)
	errWrite  = errors.New("a write before this frame is missing")
	errHeader = errors.New("it does not begin with one header")
)

// Load reads and folds the log of a run. It needs no lock: while another process writes, Load reads
// what the file had when Load began. The error wraps [ErrDamaged] or [ErrFormat], comes from the
// file system, or says that the folder has another name than the run.
func Load(path string) (s *State, n Notes, err error) {
	err = view(path, func(log *io.SectionReader) error {
		if s, n, err = Fold(log, path); err != nil {
			return err
		}
		return checkFolder(path, s.header)
	})
	return s, n, err
}

// Read calls a function with every record of a log, the header first. Read validates the records.
// It overwrites each result with the next one, so the function must not keep a result. Read stops
// at an error of the function, and returns it. Other errors are like those of [Load], but the
// folder may have any name.
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

// ErrMissing says that the folder of a run has no log.
var ErrMissing = errors.New("its ledger is missing: copy the file " + File +
	" back, or remove the folder")

// Missing returns why the folder of a run has no log. The error wraps [ErrFormat] if another
// version of the program wrote one under another name, or else [ErrMissing].
func Missing(folder string) error {
	if _, err := os.Lstat(filepath.Join(folder, fileBefore)); err == nil {
		return fmt.Errorf("the ledger of %s is the file %s, of format 1, and this program reads format "+
			"%d: %w",
			folder, fileBefore, Format, ErrFormat)
	}
	return fmt.Errorf("the run in %s: %w", folder, ErrMissing)
}

// view calls f with the present content of a log.
func view(path string, f func(log *io.SectionReader) error) error {
	file, err := durable.Open(path, os.O_RDONLY)
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

// Fold folds a log. It does not check the name of the folder. Errors call the log by the given
// name.
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

// scan calls a function with each record of a log until the function returns false. Only scan and
// torn say what damage means.
func scan(log *io.SectionReader, name string, each func(Record) bool) (n Notes, err error) {
	size := log.Size()
	in := bufio.NewReaderSize(log, int(min(2*largest, size)))
	d := newDecoder()
	for n.Size < size || n.Size == 0 {
		next, err := in.Peek(int(min(largest, size-n.Size)))
		if err != nil {
			return n, fmt.Errorf("read the ledger %s: %w", name, err)
		}
		f := parseFrame(next)
		if f.state == unreadable {
			if n.Torn, err = n.torn(log); err != nil || n.Torn > 0 {
				return n, n.failed(name, err)
			}
		}
		r, err := n.enter(d, &f)
		if err != nil {
			return n, n.failed(name, err)
		}
		if r != nil && !each(r) {
			return n, nil
		}
		n.Size += int64(f.size())
		_, _ = in.Discard(f.size()) // it is in the buffer
	}
	return n, nil
}

// enter notes a frame, and returns its record. Of a result or a mark with a damaged payload it
// returns nil. The tasks of such a result are counted again. If the result differed from other
// counts, a [Dispute] before it has the same counts. A mark only says how far the run was.
func (n *Notes) enter(d *decoder, f *frame) (Record, error) {
	isNext := n.Size > 0 && f.write == n.Write+1
	switch {
	case (n.Size == 0) != (f.kind == headerKind):
		return nil, errHeader
	case n.Size > 0 && f.write != n.Write && !isNext:
		return nil, errWrite
	}
	n.Write = f.write
	switch f.state {
	case damaged:
		if f.kind != resultKind && f.kind != markKind {
			return nil, fmt.Errorf("%w: its record, of kind %c, can't be left out", errFrame, f.kind)
		}
		n.Dropped = append(n.Dropped, n.Size)
		return nil, nil
	case mended:
		n.Mended = append(n.Mended, n.Size)
	}
	return d.decode(f)
}

// failed returns the error of a log that can't be read.
func (n *Notes) failed(name string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrFormat):
		return fmt.Errorf("the ledger %s: %w", name, err)
	}
	const hint = "copy an earlier state of the folder back, or count again with --new"
	return fmt.Errorf("the ledger %s is %w at offset %d: %w: %s", name, ErrDamaged, n.Size, err, hint)
}

// torn returns the number of bytes from an unreadable frame to the end of a log, if they are what
// is left of a write that was not written as a whole. They are damage, and torn returns an error,
// if they have the header, are longer than the largest write, have a frame of a later write, or end
// with a whole frame.
func (n *Notes) torn(log *io.SectionReader) (bytes int64, err error) {
	left := log.Size() - n.Size
	switch {
	case n.Size == 0:
		return 0, errHeader
	case left > maxWrite:
		return 0, errTorn
	}
	rest, err := last(log, left)
	if err != nil {
		return 0, err
	}
	if parseLast(rest).state != unreadable {
		return 0, errFrame
	}
	for at := 1; at+frameSize <= len(rest); at++ {
		if _, ok := parseLabel(rest[at:], head); !ok {
			continue
		}
		f := parseFrame(rest[at:])
		if f.state != unreadable && f.write != n.Write {
			return 0, errFrame
		}
	}
	return left, nil
}

// last returns the given number of bytes at the end of a log.
func last(log *io.SectionReader, size int64) ([]byte, error) {
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
		end, err := last(log, min(log.Size(), 1<<20))
		if err != nil {
			return err
		}
		l.findMark(end)
		return checkFolder(path, l.Header)
	})
	return l, err
}

// findMark searches b backward for the last mark, and skips bytes that belong to no frame.
func (l *Last) findMark(b []byte) {
	seen := len(b) // what follows has been looked at
	for end := len(b); end >= frameSize && l.Mark == nil; {
		f := parseLast(b[:end])
		if f.state == unreadable {
			end--
			continue
		}
		if g := parseFrame(b[end:seen]); g.state == mended { // its tail is damaged
			l.take(&g, end+g.size() == len(b))
		}
		if l.Mark == nil {
			l.take(&f, end == len(b))
		}
		end -= f.size()
		seen = end
	}
}

// take enters the mark of a frame, if it has one. The parameter ends says that the frame ends the
// log.
func (l *Last) take(f *frame, ends bool) {
	if f.kind != markKind || f.state == damaged {
		return
	}
	d := decoder{header: l.Header}
	r, err := d.decode(f)
	if err != nil {
		return
	}
	l.Mark = r.(*Mark)
	if ends {
		l.State = l.Mark.State
	}
}
