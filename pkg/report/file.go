package report

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
)

// CheckFile returns an error unless [Document.WriteFile] can write a file of that name. It leaves a file
// that exists as it is.
func CheckFile(path string) error {
	info, err := os.Lstat(filepath.Clean(path))
	switch {
	case err == nil && info.IsDir() || path != "" && os.IsPathSeparator(path[len(path)-1]):
		return fmt.Errorf("%s is a folder: name a file", path)
	case err == nil && info.Mode()&fs.ModeSymlink != 0: // such as /dev/stdout: a rename would replace the link
		return fmt.Errorf("%s is a link: name a file", path)
	case err == nil && !info.Mode().IsRegular():
		return fmt.Errorf("%s is no regular file: name another", path)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w: name another file", err)
	}
	name, err := createBeside(path, nil)
	if err != nil {
		var failed *fs.PathError // of a file beside it, whose name would only confuse
		if errors.As(err, &failed) {
			err = failed.Err
		}
		return fmt.Errorf("can't write %s: %w: name a file in a folder that exists and can be written", path, err)
	}
	return os.Remove(name)
}

// WriteFile writes the page to a file, in the place of one that exists. The file is written as a whole, or
// stays as it was.
func (d *Document) WriteFile(path string) error {
	path = filepath.Clean(path)
	name, err := createBeside(path, d)
	if err == nil {
		if err = os.Rename(name, path); err != nil {
			_ = os.Remove(name)
		}
	}
	if err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}

// createBeside creates a file in the same folder that is to be renamed, with a page or empty. The umask
// decides who may read it: the page has no secrets.
func createBeside(path string, d *Document) (name string, err error) {
	name = fmt.Sprintf("%s.%08x.new", filepath.Clean(path), rand.Uint32()) // that of another file is improbable
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return "", err
	}
	if d != nil {
		err = d.Write(file)
		if err == nil {
			err = file.Sync()
		}
	}
	if err = errors.Join(err, file.Close()); err != nil {
		_ = os.Remove(name)
		return "", err
	}
	return name, nil
}
