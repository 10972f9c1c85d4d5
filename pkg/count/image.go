package count

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"

	"nqueens/pkg/queens"
)

// ErrReplaced says that the file of this program is no longer the program that runs: it can't be
// asked to judge.
var ErrReplaced = fmt.Errorf("%w: the program was replaced: start it again", queens.ErrIncomplete)

// Image is the program of this process, as a child can be started from it.
type Image struct {
	path string
	sum  [sha256.Size]byte // of the file at the path; zero if the path leads to what runs
}

// running is the path that leads to the program that runs on Linux, even if its file was replaced
// or deleted: see proc_pid_exe(5).
const running = "/proc/self/exe"

// OwnImage returns the image of this process. Call it when the process starts: where the system
// does not keep the program that runs at a path, the image is the file as it is now.
func OwnImage() (*Image, error) {
	if _, err := os.Stat(running); err == nil {
		return &Image{path: running}, nil
	}
	path, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	return imageOf(path)
}

// imageOf returns the image in a file.
func imageOf(path string) (*Image, error) {
	sum, err := sumOf(path)
	if err != nil {
		return nil, fmt.Errorf("read this program: %w", err)
	}
	return &Image{path, sum}, nil
}

// program returns the path from which to start a child. The error wraps [ErrReplaced] if the file
// there is another program by now.
func (i *Image) program() (string, error) {
	if i.path == running {
		return i.path, nil
	}
	sum, err := sumOf(i.path)
	switch {
	case errors.Is(err, os.ErrNotExist), err == nil && sum != i.sum:
		return "", ErrReplaced
	case err != nil:
		return "", err
	}
	return i.path, nil
}

func sumOf(path string) (sum [sha256.Size]byte, err error) {
	file, err := os.Open(path)
	if err != nil {
		return sum, err
	}
	h := sha256.New()
	_, err = io.Copy(h, file)
	return [sha256.Size]byte(h.Sum(nil)), errors.Join(err, file.Close())
}
