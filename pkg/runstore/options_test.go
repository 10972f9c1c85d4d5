package runstore

import (
	"errors"
	"maps"
	"os"
	"strings"
	"testing"

	"nqueens/pkg/run"
)

// Options are returned as they were kept. Those that are damaged are an error that names the file.
func TestOptions(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	name := newRun(t, s, run.Stopped, 0)
	if o, err := s.Options(name); o != nil || err != nil {
		t.Errorf("of a run without: %v, %v", o, err)
	}
	for _, want := range []Options{{"nats": "nats://a:4222", "data": "a folder\n'with' quotes"}, {"workers": "0"}} {
		if err := s.SaveOptions(name, want); err != nil {
			t.Fatal(err)
		}
		if got, err := s.Options(name); err != nil || !maps.Equal(got, want) {
			t.Errorf("kept %v, got %v (%v)", want, got, err)
		}
	}
	path := s.optionsPath(name)
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v (%v), want a file that only its owner reads", info, err)
	}
	for what, text := range map[string]string{
		"empty": "", "cut off": `{"wor`, "of another form": `{"workers":2}`, "no object": `[]`,
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if o, err := s.Options(name); !errors.Is(err, ErrOptions) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v, error %v", what, o, err)
		}
	}
	if err := errors.Join(s.RemoveRest(name), s.RemoveRest(name)); err != nil {
		t.Error(err)
	}
	if o, err := s.Options(name); o != nil || err != nil {
		t.Errorf("after they were removed: %v, %v", o, err)
	}
}
