package ledger_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"nqueens/pkg/ledger"
	"nqueens/pkg/run"
)

const (
	page   = 4096 // bytes
	branch = 0x01
)

// damageSample is a ledger of a few hundred results with branch pages, overflow pages
// and disputes, as it was after each of its transactions.
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
		var batch []run.Result
		for _, task := range tasks[i*60 : i*60+60] {
			batch = append(batch, result(uint64(task)*3, rng.Uint64(), 1+rng.Uint32N(5)))
		}
		wrong, other := batch[0], batch[0]
		wrong.Worker, wrong.Count, wrong.Key, wrong.Admitted = "wrong", 5, "key of wrong", true
		other.Worker, other.Count, other.Key, other.Admitted = "other", 5, "key of other", true
		sealed(strings.Repeat("statement", 50+200*i), batch[1:40]...)
		batch = append(batch, wrong)
		if i%2 == 0 {
			batch = append(batch, other) // replaces the accepted one
		}
		if _, err := l.Accept(batch, 1, position(uint64(i+1))); err != nil {
			t.Fatal(err)
		}
		s.files = append(s.files, fileBytes(t, folder))
		s.states = append(s.states, contentsOf(t, l))
	}
	closed(t, l)
	return s
}

// last returns the file after the last transaction, and its contents.
func (s *damageSample) last() ([]byte, contents) {
	return s.files[len(s.files)-1], s.states[len(s.states)-1]
}

// fits returns an error unless the contents of a ledger are those after the last or the
// last but one transaction, without the results that it lists as damaged.
func (s *damageSample) fits(l *ledger.Ledger, got *contents) error {
	i := slices.IndexFunc(s.states, func(c contents) bool { return c.Position == got.Position })
	if i < len(s.states)-2 {
		return fmt.Errorf("it is at %v", got.Position)
	}
	want := s.states[i]
	// A record whose key was hit is listed under the task of that key.
	var lacking, strange int
	for _, task := range l.Damaged() {
		if l.Has(task) {
			return fmt.Errorf("task %d is damaged, and accepted", task)
		}
		if !slices.ContainsFunc(want.Results, func(r run.Result) bool { return r.Task == task }) {
			strange++
		}
	}
	want.Results = slices.DeleteFunc(slices.Clone(want.Results), func(r run.Result) bool {
		if !l.Has(r.Task) && !slices.Contains(l.Damaged(), r.Task) {
			lacking++
		}
		return !l.Has(r.Task)
	})
	if lacking > strange {
		return fmt.Errorf("%d results are missing and not listed, %d are listed and were never there", lacking, strange)
	}
	want.Disputes = slices.DeleteFunc(slices.Clone(want.Disputes), func(d run.Dispute) bool { return slices.Contains(l.Damaged(), d.Task) })
	if len(want.Disputes) == 0 {
		want.Disputes = nil
	}
	if !got.equal(want) {
		return fmt.Errorf("at %v the contents are not what was written", got.Position)
	}
	return nil
}

// try opens a file that may be damaged, and returns its contents, or nil if it is refused
// with a DamagedError. Any other error, and contents that were never written, are errors.
func (s *damageSample) try(how func(string) (*ledger.Ledger, error), folder string) (*contents, error) {
	l, err := how(folder)
	if err != nil {
		var damaged *ledger.DamagedError
		if !errors.As(err, &damaged) || !errors.Is(err, run.ErrIncomplete) || damaged.File != filepath.Join(folder, file) {
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

// tryTolerant opens a file that may be damaged with OpenTolerant, and reports whether that
// succeeds. Each result must count as accepted or as damaged.
func (s *damageSample) tryTolerant(folder string) (bool, error) {
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
	if accepted, damaged := int(l.Len()), len(l.Damaged()); accepted+damaged < len(want.Results) || l.State() != want.State {
		return true, fmt.Errorf("%d are accepted and %d damaged of %d", accepted, damaged, len(want.Results))
	}
	return true, nil
}

// tryDamaged opens a damaged file, and returns the outcome: "refused"; "same"; or
// "repaired", by a writer though a reader refuses it. It fails the test if the ledger
// trusts what it should not.
func (s *damageSample) tryDamaged(t *testing.T, folder string, data []byte, what string) string {
	t.Helper()
	if err := os.WriteFile(filepath.Join(folder, file), data, 0o600); err != nil {
		t.Fatal(err)
	}
	viewed, err := s.try(ledger.OpenReadOnly, folder)
	if err != nil {
		t.Errorf("%s: OpenReadOnly: %v", what, err)
	}
	tolerated, err := s.tryTolerant(folder)
	if err != nil {
		t.Errorf("%s: OpenTolerant: %v", what, err)
	}
	if !bytes.Equal(fileBytes(t, folder), data) {
		t.Errorf("%s: a reader has written the file", what)
	}
	opened, err := s.try(openWriter, folder)
	if err != nil {
		t.Errorf("%s: Open: %v", what, err)
	}
	if tolerated != (opened != nil) {
		t.Errorf("%s: OpenTolerant succeeds: %v; Open returns %v", what, tolerated, opened)
	}
	switch {
	case opened == nil && viewed == nil:
		return "refused"
	case viewed != nil && opened != nil && opened.equal(*viewed):
		return "same"
	case viewed != nil || opened == nil:
		t.Errorf("%s: OpenReadOnly returns %v, Open %v", what, viewed, opened)
	}
	l := open(t, ledger.OpenReadOnly, folder)
	if again := contentsOf(t, l); !again.equal(*opened) {
		t.Errorf("%s: after the repair a reader finds other contents", what)
	}
	closed(t, l)
	return "repaired"
}
