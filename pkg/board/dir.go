package board

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"nqueens/pkg/durable"
	"nqueens/pkg/queens"
)

// Selection says which boards are wanted. Different selections have different file names,
// so that they can share a folder.
type Selection struct {
	N      int
	Placed []queens.Square // only boards with queens on these squares
	Unique bool            // one board of each family of rotations and reflections
	Any    bool            // one board, by a construction
}

// filePrefix returns the start of the names of all files.
func (s *Selection) filePrefix() string {
	prefix := fmt.Sprintf("solve-n%d", s.N)
	if s.Any {
		prefix += "-any"
	}
	if s.Unique {
		prefix += "-unique"
	}
	if len(s.Placed) > 0 {
		prefix += "-place"
	}
	for _, square := range s.Placed {
		prefix += "-" + cmp.Or(square.Chess(s.N), square.String())
	}
	return prefix
}

// maxDigits suffices for more files than any folder has.
const maxDigits = 9

// numberWidth returns the number of digits in file names: enough for all boards of side N,
// so that names sort like boards and do not depend on how many boards are written.
func (s *Selection) numberWidth() int {
	if s.Any {
		return 1
	}
	if known, ok := queens.KnownTotal(s.N); ok {
		return min(maxDigits, len(known.String()))
	}
	return maxDigits
}

// dirWriter writes each board to a file of its own.
type dirWriter struct {
	path, format string
	selection    Selection
	written      int
}

// NewDir returns a writer of boards to files of a folder, which it creates if necessary.
func NewDir(path, format string, s Selection) (Writer, error) {
	if err := os.MkdirAll(path, 0o777); err != nil {
		return nil, err
	}
	return &dirWriter{path: path, format: format, selection: s}, nil
}

// Write writes the next file. It leaves an existing file as it is if that has the same
// contents, so that an interrupted command can be repeated; otherwise it is an error.
func (d *dirWriter) Write(b Board) error {
	extension := d.format
	if extension == "text" {
		extension = "txt"
	}
	s := &d.selection
	name := filepath.Join(d.path, fmt.Sprintf("%s-%0*d.%s", s.filePrefix(), s.numberWidth(), d.written+1, extension))
	contents := b.encode(d.format)
	existing, err := os.ReadFile(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = durable.WriteNew(name, contents, 0o666)
	case err == nil && !bytes.Equal(existing, contents):
		err = fmt.Errorf("%s exists already and holds something else: remove it, or choose another folder", name)
	}
	if err != nil {
		return fmt.Errorf("write board: %w", err)
	}
	d.written++
	return nil
}

func (d *dirWriter) Close() error { return nil }
