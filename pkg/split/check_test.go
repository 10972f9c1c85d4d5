package split_test

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"nqueens/pkg/queens"
	"nqueens/pkg/split"
	"nqueens/pkg/testkit"
)

// Check rejects a manifest whose tasks this program would not make, and says why.
func TestCheckRefusesOtherManifests(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(m *queens.Manifest)
		says  string
	}{
		"other rules":   {func(m *queens.Manifest) { m.SplitVersion-- }, "rules of version"},
		"newer rules":   {func(m *queens.Manifest) { m.SplitVersion++ }, "rules of version"},
		"another hash":  {func(m *queens.Manifest) { m.Hash[31] ^= 1 }, "hash"},
		"another depth": {func(m *queens.Manifest) { m.Classes[0].Depth-- }, "tasks, not"},
		"a last, deeper one": {func(m *queens.Manifest) {
			m.Classes[len(m.Classes)-1].Depth++
		}, "more than the"},
		"another batch": {func(m *queens.Manifest) { m.Classes[0].Batch = 2 }, "tasks, not"},
		"a task less":   {func(m *queens.Manifest) { m.Tasks-- }, "tasks"},
		"a task more":   {func(m *queens.Manifest) { m.Tasks++ }, "tasks"},
		"a class less": {func(m *queens.Manifest) {
			m.Classes = m.Classes[:len(m.Classes)-1]
		}, "tasks"},
		"another first task": {func(m *queens.Manifest) { m.Classes[5].First++ }, "classes begin"},
		"a square less": {func(m *queens.Manifest) {
			m.Classes[0].Board.Allow[1] &^= 0x1f
		}, "tasks, not"},
		"a square beyond": {func(m *queens.Manifest) {
			m.Classes[0].Board.Allow[8] |= 1 << 9
		}, "class 0"},
		"a batch of nothing":  {func(m *queens.Manifest) { m.Classes[0].Batch = 0 }, "class 0"},
		"no class at all":     {func(m *queens.Manifest) { m.Classes = nil }, "no class"},
		"a board of no side":  {func(m *queens.Manifest) { m.N = 0 }, "from 1 to 32"},
		"deeper than a board": {func(m *queens.Manifest) { m.Classes[0].Depth = 10 }, "class 0"},
	} {
		m := mustPlan(t, 9, queens.Full, 3)
		c.spoil(&m)
		if _, err := split.Check(t.Context(), &m, nil); err == nil ||
			!strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: error %v, want one about %q", name, err, c.says)
		}
	}
}

// If a manifest was split by other rules, Check says which version of the program to use.
func TestCheckNamesTheVersion(t *testing.T) {
	t.Parallel()
	m := mustPlan(t, 8, queens.Full, 0)
	m.SplitVersion = 2
	want := fmt.Sprintf("the run was split by rules of version 2, not %d: use the version",
		split.Version)
	if _, err := split.Check(t.Context(), &m, nil); err == nil ||
		!strings.HasPrefix(err.Error(), want) {
		t.Errorf("error %v, want %s", err, want)
	}
}

// Check ends when there are more tasks than the manifest says. A manifest may be forged, and have
// more tasks than a pass can visit.
func TestCheckEndsAtTheTasks(t *testing.T) {
	t.Parallel()
	m := mustPlan(t, 20, queens.None, 3)
	m.Classes[0].Depth = 12
	ctx, cancel := context.WithTimeout(t.Context(), testkit.Stall)
	defer cancel()
	if _, err := split.Check(ctx, &m, nil); err == nil ||
		!strings.Contains(err.Error(), "more than the") {
		t.Errorf("a manifest of %d tasks with a deeper class: error %v", m.Tasks, err)
	}
}

// Check does not change the manifest.
func TestCheckChangesNothing(t *testing.T) {
	m, want := mustPlan(t, 8, queens.Full, 0), mustPlan(t, 8, queens.Full, 0)
	m.Classes[2].First++
	want.Classes[2].First++
	if _, err := split.Check(t.Context(), &m, nil); err == nil || !reflect.DeepEqual(m, want) {
		t.Errorf("after a check (error %v) the manifest is %+v, was %+v", err, m, want)
	}
}
