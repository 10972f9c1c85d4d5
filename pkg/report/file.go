package report

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"nqueens/pkg/durable"
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
	file, err := durable.Create(path, fileMode)
	if err != nil {
		var failed *fs.PathError // its path would only repeat the name
		if errors.As(err, &failed) {
			err = failed.Err
		}
		return fmt.Errorf("can't write %s: %w: name a file in a folder that exists and can be written", path, err)
	}
	file.Discard()
	return file.Close()
}

// fileMode is that of a page, which has no secrets: the umask decides who may read it.
const fileMode = 0o666

// WriteFile writes the page to a file, and replaces one that exists. The file is written as a whole, or
// stays as it was.
func (d *Document) WriteFile(path string) error {
	var page bytes.Buffer
	err := d.Write(&page)
	if err == nil {
		err = durable.Write(path, page.Bytes(), fileMode)
	}
	if err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}
