package ledger_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"nqueens/pkg/ledger"
	"nqueens/pkg/queens"
)

const (
	page   = 4096 // of the file
	branch = 0x01
)

// damageSample is a ledger of some hundred results with branch pages, pages that overflow,
// disputes and evidence, as it was after each of its transactions.
type damageSample struct {
	files  [][]byte
	states []contents
}

func newDamageSample(t testing.TB) *damageSample {
	folder := t.TempDir()
	l := create(t, folder, 4000)
	s := &damageSample{}
	rng := rand.New(rand.NewPCG(1, 2))
	tasks := rng.Perm(360)
	for i := range 6 {
		var batch []queens.Result
		for _, task := range tasks[i*60 : i*60+60] {
			batch = append(batch, result(uint64(task)*3, rng.Uint64(), 1+rng.Uint32N(5)))
		}
		wrong, other := batch[0], batch[0]
		wrong.Worker, wrong.Count = "wrong", 5
		other.Worker, other.Count = "other", 5
		batch = append(batch, wrong)
		if i%2 == 0 {
			batch = append(batch, other) // the accepted one goes
		}
		refused := []ledger.Rejection{{Result: result(1<<40, 1, 1), Reason: fmt.Sprintf("no such task, %d", i)}}
		if _, err := l.Accept(batch, refused, position(uint64(i+1))); err != nil {
			t.Fatal(err)
		}
		s.files = append(s.files, fileBytes(t, folder))
		s.states = append(s.states, contentsOf(t, l))
	}
	closed(t, l)
	return s
}

// last returns the file after the last transaction, and what it says.
func (s *damageSample) last() ([]byte, contents) {
	return s.files[len(s.files)-1], s.states[len(s.states)-1]
}

// fits returns an error unless what a ledger says is what it said after the last or the
// last but one transaction, without the results that it names as damaged.
func (s *damageSample) fits(l *ledger.Ledger, got *contents) error {
	i := slices.IndexFunc(s.states, func(c contents) bool { return c.Position == got.Position })
	if i < len(s.states)-2 {
		return fmt.Errorf("it is at %v", got.Position)
	}
	want := s.states[i]
	// A record whose key was hit is named by the task that it seems to be of.
	var lacking, strange int
	for _, task := range l.Damaged() {
		if l.Has(task) {
			return fmt.Errorf("task %d is damaged, and accepted", task)
		}
		if !slices.ContainsFunc(want.Results, func(r queens.Result) bool { return r.Task == task }) {
			strange++
		}
	}
	want.Results = slices.DeleteFunc(slices.Clone(want.Results), func(r queens.Result) bool {
		if !l.Has(r.Task) && !slices.Contains(l.Damaged(), r.Task) {
			lacking++
		}
		return !l.Has(r.Task)
	})
	if lacking != strange {
		return fmt.Errorf("%d results are lacking that are not named, %d are named that were not there", lacking, strange)
	}
	if !got.equal(want) {
		return fmt.Errorf("at %v it does not say what was written", got.Position)
	}
	return nil
}

// try opens a file that may be damaged, and returns what it says, or nil where it is
// rejected with a DamagedError. Any other error, and anything said that was not
// written, is an error.
func (s *damageSample) try(how func(string) (*ledger.Ledger, error), folder string) (*contents, error) {
	l, err := how(folder)
	if err != nil {
		var damaged *ledger.DamagedError
		if !errors.As(err, &damaged) || !errors.Is(err, queens.ErrIncomplete) || damaged.File != filepath.Join(folder, file) {
			return nil, fmt.Errorf("the error is %w", err)
		}
		return nil, nil
	}
	defer func() { _ = l.Close() }()
	got, err := read(l)
	if err == nil {
		err = s.fits(l, &got)
	}
	return &got, err
}

// lookAt looks at a file that may be damaged, and returns whether it is a ledger still.
// Whatever its results are, each counts as accepted or as damaged.
func (s *damageSample) lookAt(folder string) (bool, error) {
	l, err := ledger.OpenTolerant(folder)
	if errors.As(err, new(*ledger.DamagedError)) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer func() { _ = l.Close() }()
	i := slices.IndexFunc(s.states, func(c contents) bool { return c.Position == l.Position() })
	if i < len(s.states)-2 {
		return true, fmt.Errorf("it is at %v", l.Position())
	}
	want := &s.states[i]
	if accepted, damaged := int(l.Len()), len(l.Damaged()); accepted+damaged != len(want.Results) || l.State() != want.State {
		return true, fmt.Errorf("%d are accepted and %d damaged of %d", accepted, damaged, len(want.Results))
	}
	return true, nil
}

// tryDamaged opens a file that is not what was written, and returns what came of it:
// "refused"; "same"; or "repaired", by a writer where a reader refuses it. It fails the
// test where a file is trusted that should not be.
func (s *damageSample) tryDamaged(t *testing.T, folder string, data []byte, what string) string {
	t.Helper()
	if err := os.WriteFile(filepath.Join(folder, file), data, 0o600); err != nil {
		t.Fatal(err)
	}
	viewed, err := s.try(ledger.OpenReadOnly, folder)
	if err != nil {
		t.Errorf("%s: the reader: %v", what, err)
	}
	looked, err := s.lookAt(folder)
	if err != nil {
		t.Errorf("%s: the look: %v", what, err)
	}
	if !bytes.Equal(fileBytes(t, folder), data) {
		t.Errorf("%s: a reader has written", what)
	}
	opened, err := s.try(openWriter, folder)
	if err != nil {
		t.Errorf("%s: the writer: %v", what, err)
	}
	if looked != (opened != nil) {
		t.Errorf("%s: a look finds a ledger: %v; the writer finds %v", what, looked, opened)
	}
	switch {
	case opened == nil && viewed == nil:
		return "refused"
	case viewed != nil && opened != nil && opened.equal(*viewed):
		return "same"
	case viewed != nil || opened == nil:
		t.Errorf("%s: the reader finds %v, the writer %v", what, viewed, opened)
	}
	l := open(t, ledger.OpenReadOnly, folder)
	if again := contentsOf(t, l); !again.equal(*opened) {
		t.Errorf("%s: repaired, it is something else", what)
	}
	closed(t, l)
	return "repaired"
}
