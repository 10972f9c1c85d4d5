package flight

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// packageComment returns the comment of this package.
func packageComment(t *testing.T) string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "flight.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	return file.Doc.Text()
}

// The package comment has every state and every transition of the code, and no other.
func TestPackageCommentHasTheTable(t *testing.T) {
	comment := packageComment(t)
	var described []string
	documented := make(map[string][]string)
	for line := range strings.Lines(comment) {
		words := strings.Fields(line)
		switch {
		case !strings.HasPrefix(line, "\t") || len(words) < 2:
		case words[1] == "->":
			documented[words[0]] = append(documented[words[0]], words[2])
		default:
			described = append(described, words[0])
		}
	}
	for s := planned; s <= closed; s++ {
		if !slices.Contains(described, s.String()) {
			t.Errorf("the package comment does not say what %v means", s)
		}
		var next []string
		for _, n := range transitions[s] {
			next = append(next, n.String())
		}
		if !slices.Equal(documented[s.String()], next) {
			t.Errorf("%v: the package comment has the transitions %v, the code %v", s, documented[s.String()], next)
		}
		delete(documented, s.String())
	}
	if len(described) != int(closed)+1 || len(documented) > 0 {
		t.Errorf("the package comment describes %v, and has transitions of the other states %v", described, documented)
	}
}

// A transition that is not in the table panics.
func TestOtherTransitionsPanic(t *testing.T) {
	for from := planned; from <= closed; from++ {
		for next := planned; next <= closed; next++ {
			panics := func() (panics bool) {
				defer func() { panics = recover() != nil }()
				(&chunk{state: from}).to(next)
				return false
			}()
			if panics == slices.Contains(transitions[from], next) {
				t.Errorf("%v to %v: panics: %v", from, next, panics)
			}
		}
	}
}

// inState returns a story whose chunk 1, of the tasks 0 to 3, is in a state. Chunk 2 has the tasks 4 to 7.
func inState(t *testing.T, s state) *story {
	t.Helper()
	const publish = "new tasks=8;speed chunk=4;fill;next;"
	const check = publish + "next;published chunk=1;wait for=15s;sweep;next;"
	script := map[state]string{
		planned:     "new tasks=8;speed chunk=4;fill",
		publishing:  publish,
		published:   publish + "published chunk=1",
		checking:    check,
		away:        check + "checked chunk=1 taken",
		missing:     check + "checked chunk=1 missing",
		recalled:    check + "withdraw chunk=1",
		withdrawing: publish + "published chunk=1;withdraw chunk=1",
		closed:      publish + "published chunk=1;withdraw chunk=1;next;next;deleted chunk=1",
	}[s]
	st := newStory(t)
	for line := range strings.SplitSeq(strings.TrimSuffix(script, ";"), ";") {
		st.play(line)
	}
	return st
}

// Each event changes the state of a chunk as the table of this test says; where the table says nothing, it changes
// nothing.
func TestEveryEventInEveryState(t *testing.T) {
	whole := [...]state{planned: planned, publishing: closed, published: closed, away: closed, checking: closed, missing: closed, recalled: closed, withdrawing: closed, closed: closed}
	recall := [...]state{planned: planned, publishing: recalled, published: withdrawing, away: withdrawing, checking: recalled, missing: missing, recalled: recalled, withdrawing: withdrawing, closed: closed}
	emptied := [...]state{planned: closed, publishing: recalled, published: withdrawing, away: withdrawing, checking: recalled, missing: closed, recalled: recalled, withdrawing: withdrawing, closed: closed}
	partial := emptied
	partial[planned] = planned // no worker knows its id
	events := []struct {
		line string
		all  []state         // by state, or
		some map[state]state // only those that change
	}{
		{line: "published chunk=1", some: map[state]state{publishing: published}},
		{line: "checked chunk=1 queued", some: map[state]state{checking: published, recalled: withdrawing}},
		{line: "checked chunk=1 taken", some: map[state]state{checking: away, recalled: withdrawing}},
		{line: "checked chunk=1 missing", some: map[state]state{checking: missing, recalled: withdrawing}},
		{line: "failed chunk=1", some: map[state]state{checking: published, recalled: withdrawing}},
		{line: "deleted chunk=1", some: map[state]state{withdrawing: closed}},
		{line: "returned chunk=1 tasks=0-3", all: whole[:]},
		{line: "returned chunk=1 tasks=0-1", all: partial[:]},
		{line: "returned chunk=1 none", all: partial[:]},
		{line: "returned chunk=1 tasks=1-2"}, // not its first tasks
		{line: "settled tasks=0-3", all: emptied[:]},
		{line: "settled tasks=0-2"},
		{line: "again tasks=0-3"},
		{line: "void tasks=0-3"},
		{line: "withdraw chunk=1", all: recall[:]},
		{line: "lost chunk=1 worker=k/a"},
		{line: "sweep"},
		{line: "sweep idle", some: map[state]state{away: withdrawing}},
		{line: "wait for=1s;sweep", some: map[state]state{missing: closed}},
		{line: "wait for=15s;sweep", some: map[state]state{published: checking, away: checking, missing: closed}},
		{line: "wait for=15s;sweep read=15s", some: map[state]state{published: checking, away: checking}},
		{line: "wait for=15s;holds chunk=1;sweep", some: map[state]state{away: published, missing: closed}},
		{line: "wait for=10m;holds chunk=1;sweep read=10m", some: map[state]state{published: withdrawing, away: withdrawing}},
	}
	for s := planned; s <= closed; s++ {
		for _, e := range events {
			st := inState(t, s)
			c := st.f.chunks[1]
			if s == closed && c != nil || s != closed && c.state != s {
				t.Fatalf("the chunk is not %v:\n%s", s, st.f.State(st.now))
			}
			for line := range strings.SplitSeq(e.line, ";") {
				st.play(line)
			}
			want, changes := e.some[s]
			switch {
			case e.all != nil:
				want = e.all[s]
			case !changes:
				want = s
			}
			got := closed
			if now := st.f.chunks[1]; now != nil {
				got = now.state
			}
			if got != want {
				t.Errorf("%v, %s: the chunk is %v, want %v:\n%s", s, e.line, got, want, st.f.State(st.now))
			}
		}
	}
}

// A chunk that is recalled while it is being published is withdrawn as soon as it has a message.
func TestRecalledWhilePublishing(t *testing.T) {
	st := inState(t, publishing)
	st.play("withdraw chunk=1")
	for _, early := range []string{"checked chunk=1 queued", "failed chunk=1", "deleted chunk=1"} {
		if st.play(early); st.f.chunks[1].state != recalled {
			t.Errorf("%s, which was not asked: the chunk is %v", early, st.f.chunks[1].state)
		}
	}
	if st.play("published chunk=1"); st.f.chunks[1].state != withdrawing {
		t.Errorf("the chunk is %v", st.f.chunks[1].state)
	}
}

// The package is a state machine: its code starts no goroutine, has no channel, and reads no clock.
func TestNoClockNoGoroutine(t *testing.T) {
	names, err := filepath.Glob("*.go")
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt, *ast.ChanType, *ast.SendStmt, *ast.SelectStmt:
				t.Errorf("%s has a %T", name, n)
			case *ast.SelectorExpr:
				if x, ok := n.X.(*ast.Ident); ok && x.Name == "time" && slices.Contains([]string{"Now", "Since", "Until", "After", "Sleep", "NewTimer", "NewTicker"}, n.Sel.Name) {
					t.Errorf("%s calls time.%s", name, n.Sel.Name)
				}
			}
			return true
		})
	}
}
