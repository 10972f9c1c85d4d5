package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/rs/zerolog"

	"nqueens/pkg/cli"
	"nqueens/pkg/queens"
)

// boardFolder writes each board to a file of its own.
type boardFolder struct {
	path    string
	format  string
	n       int
	digits  int // of the number in a file's name, so that names sort as boards do
	written int // or there before
	log     zerolog.Logger
}

// newBoardFolder makes the folder of --output where it is missing.
func newBoardFolder(o *solveOptions, n int, log zerolog.Logger) (*boardFolder, error) {
	err := os.MkdirAll(o.output, 0o777)
	switch {
	case errors.Is(err, syscall.ENOTDIR), errors.Is(err, fs.ErrExist):
		return nil, cli.Usagef("--output: %s is not a folder, a file stands there: name another folder", o.output)
	case err != nil:
		return nil, fmt.Errorf("make the folder of --output: %w", err)
	}
	return &boardFolder{path: o.output, format: o.format, n: n, digits: o.digits(n), log: log}, nil
}

// maxDigits is for more files than there will ever be.
const maxDigits = 9

// digits returns how many the number of the last board has, at most.
func (o *solveOptions) digits(n int) int {
	if o.any {
		return 1
	}
	digits := maxDigits
	if known, ok := queens.KnownTotal(n); ok {
		digits = min(digits, len(known.String()))
	}
	if o.limit > 0 {
		digits = min(digits, len(strconv.Itoa(o.limit)))
	}
	return digits
}

var extensions = map[string]string{"text": "txt", "json": "json", "svg": "svg"}

// write writes the next file. One that is there with the same contents is left as it is,
// so that a command that was interrupted can be given again; another one is an error.
func (f *boardFolder) write(b *board) error {
	name := filepath.Join(f.path, fmt.Sprintf("solve-n%d-%0*d.%s", f.n, f.digits, f.written+1, extensions[f.format]))
	contents := boardFormats[f.format](b)
	there, err := os.ReadFile(name)
	switch {
	case err == nil && bytes.Equal(there, contents):
		f.written++
		return nil
	case err == nil:
		return fmt.Errorf("%s is there already, with another board or format of it: name another folder with --output, or remove it", name)
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("look for what --output would write over: %w", err)
	}
	if err := writeWhole(name, contents); err != nil {
		return err
	}
	f.written++
	return nil
}

// writeWhole writes a file that is not there before it is whole.
func writeWhole(name string, contents []byte) error {
	err := os.WriteFile(name+".new", contents, 0o666)
	if err == nil {
		err = os.Rename(name+".new", name)
	}
	if err != nil {
		_ = os.Remove(name + ".new") // what was written of it
		return fmt.Errorf("write a board for --output: %w", err)
	}
	return nil
}

// close says what there is now.
func (f *boardFolder) close() error {
	if f.written == 0 {
		return nil
	}
	f.log.Info().Int("boards", f.written).Str("folder", f.path).Msg("each board is in a file of its own")
	return nil
}
