package runstore

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"nqueens/pkg/durable"
)

// This file keeps with a run what it was started with. No count depends on it.

// Options are what a run was started with: the values of flags, by the names of these. They hold no
// secrets, only the names of files with such.
type Options map[string]string

const optionsFile = "options.json"

// ErrOptions says that there are options of a run, and that they can't be read.
var ErrOptions = errors.New("what the run was started with can't be read")

func (s *Store) optionsPath(name string) string { return filepath.Join(s.Folder(name), optionsFile) }

// SaveOptions keeps options with a run, in place of those before. Only their owner can read them.
func (s *Store) SaveOptions(name string, o Options) error {
	return durable.WriteJSON(s.optionsPath(name), o)
}

// Options returns the options that are kept with a run; nil if there are none. The error wraps
// [ErrOptions].
func (s *Store) Options(name string) (o Options, err error) {
	text, err := os.ReadFile(s.optionsPath(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &o)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrOptions, s.optionsPath(name), err)
	}
	return o, nil
}
