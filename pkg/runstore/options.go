package runstore

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"nqueens/pkg/durable"
)

// This file keeps with a run what it was started with. No count depends on it.

// Options are what a run was started with: the values of flags, by the names of these. They hold no
// secrets, only the names of files with such.
type Options map[string]string

const (
	optionsFile    = "options.json"
	optionsVersion = 1
	maxOptions     = 1 << 16 // bytes
)

// ErrOptions says that there are options of a run, and that they can't be read.
var ErrOptions = errors.New("what the run was started with can't be read")

type storedOptions struct {
	Version int     `json:"version"`
	Options Options `json:"options"`
}

func (s *Store) optionsPath(name string) string { return filepath.Join(s.Folder(name), optionsFile) }

// SaveOptions keeps options with a run, in place of those before. Only their owner can read them.
func (s *Store) SaveOptions(name string, o Options) error {
	text, err := json.Marshal(storedOptions{optionsVersion, o})
	if err != nil {
		return err
	}
	return durable.Write(s.optionsPath(name), text, 0o600)
}

// Options returns the options that are kept with a run; nil if there are none. The error wraps
// [ErrOptions].
func (s *Store) Options(name string) (Options, error) {
	file, err := os.Open(s.optionsPath(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var stored storedOptions
	if err == nil {
		err = json.NewDecoder(io.LimitReader(file, maxOptions)).Decode(&stored)
		_ = file.Close() // it was only read
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: %s: %w", ErrOptions, s.optionsPath(name), err)
	case stored.Version != optionsVersion:
		return nil, fmt.Errorf("%w: %s has format %d, and this program reads format %d", ErrOptions, s.optionsPath(name), stored.Version, optionsVersion)
	}
	return stored.Options, nil
}

// RemoveOptions removes the options of a run that has ended.
func (s *Store) RemoveOptions(name string) error { return os.RemoveAll(s.optionsPath(name)) }
