package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/rs/zerolog"

	"nqueens/pkg/cli"
	"nqueens/pkg/queens"
)

// boardFolder writes each board to a file of its own.
type boardFolder struct {
	path    string
	format  string
	stem    string // of each file's name
	digits  int    // of the number in it, so that names sort as boards do
	written int    // or there before
	log     zerolog.Logger
}

// newBoardFolder makes the folder of --output where it is missing.
func newBoardFolder(o *solveOptions, source *boardSource, log zerolog.Logger) (*boardFolder, error) {
	err := os.MkdirAll(o.output, 0o777)
	switch {
	case errors.Is(err, syscall.ENOTDIR), errors.Is(err, fs.ErrExist):
		return nil, cli.Usagef("--output: %s is not a folder, a file stands there: name another folder", o.output)
	case err != nil:
		return nil, fmt.Errorf("make the folder of --output: %w", err)
	}
	return &boardFolder{path: o.output, format: o.format, stem: o.stem(source), digits: o.digits(source.n), log: log}, nil
}

// stem returns what the names of all files of a question begin with: boards of another
// question have other names, in the same folder too.
func (o *solveOptions) stem(source *boardSource) string {
	stem := fmt.Sprintf("solve-n%d", source.n)
	if o.any {
		stem += "-any"
	}
	if o.unique {
		stem += "-unique"
	}
	if len(source.placed) > 0 {
		stem += "-place"
	}
	for _, s := range source.placed {
		stem += "-" + cmp.Or(s.Chess(source.n), s.String())
	}
	return stem
}

// maxDigits is for more files than there will ever be.
const maxDigits = 9

// digits returns how many the number of the last board of side n can have. However few are
// asked for, a board has the same name.
func (o *solveOptions) digits(n int) int {
	if o.any {
		return 1 // it is the only one
	}
	known, ok := queens.KnownTotal(n)
	if !ok {
		return maxDigits
	}
	return min(maxDigits, len(known.String()))
}

// The largest sides whose boards have a file each without --limit: there are 365596 of side
// 14, and 285053 families of them of side 15. With a queen placed there are fewer than
// 1000000 of side 15.
const (
	maxFiled     = 14
	maxFiledPart = 15
)

// checkFiles returns an error where --output would fill a disk unasked.
func (o *solveOptions) checkFiles(source *boardSource) error {
	most := maxFiled
	if o.unique || len(source.placed) > 0 {
		most = maxFiledPart
	}
	if o.output == "" || o.any || o.limit > 0 || source.n <= most {
		return nil
	}
	return cli.Usagef("--output would write more than a million files, for all these boards of side %d: say with --limit how many you want", source.n)
}

var extensions = map[string]string{"text": "txt", "json": "json", "svg": "svg"}

// write writes the next file. One that is there with the same contents is left as it is,
// so that a command that was interrupted can be given again; another one is an error.
func (f *boardFolder) write(b *board) error {
	name := filepath.Join(f.path, fmt.Sprintf("%s-%0*d.%s", f.stem, f.digits, f.written+1, extensions[f.format]))
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
