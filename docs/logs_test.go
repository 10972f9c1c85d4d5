package docs_test

import (
	"fmt"
	"go/ast"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"nqueens/pkg/testkit"
)

// The tables of log lines in docs/logs.md have what the program logs at level info or above: the message
// up to the first part that varies, the level, and the fields.
func TestGeneratedLog(t *testing.T) {
	tables := map[string][]logLine{"worker": nil, "both programs": nil, "coordinator": nil}
	of := map[string]string{"worker": "worker", "pkg/worker": "worker", "pkg/cli": "both programs", "pkg/bus": "both programs"}
	for _, folder := range folders(t) {
		name := of[folder]
		if name == "" {
			name = "coordinator"
		}
		tables[name] = append(tables[name], logLines(t, folder)...)
	}
	for name, lines := range tables {
		slices.SortFunc(lines, func(a, b logLine) int { return strings.Compare(a.row(), b.row()) })
		rows := "| message | level | fields |\n|---|---|---|\n"
		for i := range lines {
			if row := lines[i].row(); i == 0 || row != lines[i-1].row() {
				rows += row
			}
		}
		if len(lines) < 5 {
			t.Errorf("%d log lines of %s", len(lines), name)
		}
		testkit.Generated(t, "docs/logs.md", "log of "+name, rows)
	}
}

// folders returns the folders of packages that may log, by their paths in the repository.
func folders(t *testing.T) (found []string) {
	t.Helper()
	for _, top := range []string{"coordinator", "worker", "pkg"} {
		err := filepath.WalkDir(filepath.Join(root, top), func(path string, e fs.DirEntry, err error) error {
			if err == nil && strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") {
				folder, _ := filepath.Rel(root, filepath.Dir(path)) // both are relative
				if !slices.Contains(found, folder) {
					found = append(found, folder)
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return found
}

// logLine is a line that the program may log.
type logLine struct {
	message, level string
	fields         []logField
}

// logField is a field of a line; it may depend on a condition.
type logField struct {
	name, kind string
	may        bool
}

// row returns the row of a line in its table.
func (l *logLine) row() string {
	var names []string
	for _, may := range []bool{false, true} {
		for _, f := range l.fields {
			if f.may == may {
				name := "`" + f.name + "`"
				if may {
					name += "?"
				}
				if f.kind != "text" {
					name += " " + f.kind
				}
				if !slices.Contains(names, name) {
					names = append(names, name)
				}
			}
		}
	}
	return fmt.Sprintf("| %s | %s | %s |\n", strings.ReplaceAll(l.message, "|", `\|`), l.level, strings.Join(names, ", "))
}

// kinds are the methods of an event that add a field, with the type of the field in JSON.
var kinds = map[string]string{
	"Str": "text", "Stringer": "text", "Strs": "texts", "Err": "text", "AnErr": "text", "Bool": "boolean", "Float64": "number",
	"Int": "integer", "Int64": "integer", "Uint64": "integer", "Uint32": "integer", "Uints64": "integers", "Uints32": "integers",
}

// levels are the methods of a log that begin a line.
var levels = map[string]string{"Info": "info", "Warn": "warn", "Error": "error"}

// logScan looks for the lines of a function.
type logScan struct {
	*folderSource
	t      *testing.T
	texts  map[string]ast.Expr // what variables were set to, by name
	lines  []logLine
	begun  map[string]*logLine // events in variables
	depth  int                 // of conditions and loops
	since  map[string]int      // depth at which the event of a variable has begun
	common []logField          // of every line: those of a log with fields
}

// logLines returns the lines of a folder.
func logLines(t *testing.T, folder string) (lines []logLine) {
	t.Helper()
	s := source(t, folder)
	for _, file := range s.files {
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Body != nil {
				scan := &logScan{folderSource: s, t: t, texts: make(map[string]ast.Expr), begun: make(map[string]*logLine), since: make(map[string]int)}
				scan.walk(f.Body)
				lines = append(lines, scan.lines...)
			}
		}
	}
	return lines
}

// walk looks at the statements of a function in their order.
func (s *logScan) walk(n ast.Node) {
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.IfStmt, *ast.CaseClause, *ast.ForStmt, *ast.RangeStmt:
			s.depth++
			for _, inner := range children(n) {
				s.walk(inner)
			}
			s.depth--
			return false
		case *ast.AssignStmt:
			s.assign(n)
			return true
		case *ast.CallExpr:
			return !s.call(n)
		}
		return true
	})
}

// children returns the parts of a condition or a loop.
func children(n ast.Node) (parts []ast.Node) {
	ast.Inspect(n, func(inner ast.Node) bool {
		if inner == n {
			return true
		}
		if inner != nil {
			parts = append(parts, inner)
		}
		return false
	})
	return parts
}

// assign notes what variables are set to: texts and events.
func (s *logScan) assign(n *ast.AssignStmt) {
	for i, left := range n.Lhs {
		name, ok := left.(*ast.Ident)
		if !ok || i >= len(n.Rhs) {
			continue
		}
		if len(n.Lhs) == len(n.Rhs) && (n.Tok == token.DEFINE || s.texts[name.Name] == nil) {
			s.texts[name.Name] = n.Rhs[i]
		}
		call, ok := n.Rhs[i].(*ast.CallExpr)
		if !ok {
			continue
		}
		if method, ok := call.Fun.(*ast.SelectorExpr); ok && method.Sel.Name == "Logger" {
			with := new(logLine)
			s.add(with, fieldsOf(method.X), nil, s.depth)
			s.common = append(s.common, with.fields...)
			continue
		}
		line, chain := s.begin(call)
		switch before := s.begun[name.Name]; {
		case line == nil || line == before:
		case before != nil && n.Tok == token.ASSIGN: // another level, under a condition
			before.level += " or " + line.level
		default:
			s.add(line, chain, nil, s.depth)
			s.begun[name.Name], s.since[name.Name] = line, s.depth
		}
	}
}

// fieldsOf returns the calls that add fields to a log, log.With().Str("run", name).
func fieldsOf(e ast.Expr) (chain []*ast.CallExpr) {
	for {
		call, ok := e.(*ast.CallExpr)
		if !ok {
			return chain
		}
		method, ok := call.Fun.(*ast.SelectorExpr)
		if !ok || method.Sel.Name == "With" {
			return chain
		}
		if method.Sel.Name != "Timestamp" { // of every line
			chain = append([]*ast.CallExpr{call}, chain...)
		}
		e = method.X
	}
}

// begin returns the line that a chain of calls begins, and the calls after the beginning; or nil.
func (s *logScan) begin(call *ast.CallExpr) (line *logLine, chain []*ast.CallExpr) {
	for {
		method, ok := call.Fun.(*ast.SelectorExpr)
		if !ok {
			return nil, nil
		}
		if level := levels[method.Sel.Name]; level != "" && len(call.Args) == 0 && isLog(method.X) {
			slices.Reverse(chain)
			return &logLine{level: level, fields: slices.Clone(s.common)}, chain
		}
		chain = append(chain, call)
		inner, ok := method.X.(*ast.CallExpr)
		if !ok {
			if name, ok := method.X.(*ast.Ident); ok && s.begun[name.Name] != nil {
				slices.Reverse(chain)
				return s.begun[name.Name], chain
			}
			return nil, nil
		}
		call = inner
	}
}

// isLog reports whether an expression is a log, by its name.
func isLog(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name == "log"
	case *ast.SelectorExpr:
		return strings.EqualFold(e.Sel.Name, "log")
	}
	return false
}

// call looks at a call: of the methods of an event, or of a function that gets an event. It reports whether
// the call is of either kind.
func (s *logScan) call(call *ast.CallExpr) bool {
	for i, arg := range call.Args {
		if name, ok := arg.(*ast.Ident); ok && s.begun[name.Name] != nil {
			s.pass(s.begun[name.Name], call, i, nil, s.depth > s.since[name.Name])
			return true
		}
	}
	line, chain := s.begin(call)
	if line == nil {
		return false
	}
	since := s.depth
	for name, begun := range s.begun {
		if begun == line {
			since = s.since[name]
		}
	}
	s.add(line, chain, nil, since)
	return true
}

// add adds the fields of a chain of calls to a line, and finishes the line with its message.
func (s *logScan) add(line *logLine, chain []*ast.CallExpr, names map[string]ast.Expr, since int) {
	for _, call := range chain {
		method := call.Fun.(*ast.SelectorExpr).Sel.Name
		switch kind := kinds[method]; {
		case method == "Err":
			line.fields = append(line.fields, logField{"error", kind, s.depth > since})
		case kind != "":
			line.fields = append(line.fields, logField{s.text(call.Args[0], names), kind, s.depth > since})
		case method == "Msg":
			done := *line
			done.message = s.text(call.Args[0], names)
			s.lines = append(s.lines, done)
		case method != "Send" && method != "Level":
			s.t.Fatalf("%s: docs/logs_test.go knows no method %s of a log line", s.set.Position(call.Pos()), method)
		}
	}
}

// pass adds to a line the fields that a function adds to the event that it gets as an argument.
func (s *logScan) pass(line *logLine, call *ast.CallExpr, at int, names map[string]ast.Expr, may bool) {
	name := ""
	switch f := call.Fun.(type) {
	case *ast.Ident:
		name = f.Name
	case *ast.SelectorExpr:
		name = f.Sel.Name
	}
	f := s.funcs[name]
	if f == nil {
		s.t.Fatalf("%s: no function %s in this package adds fields to a log line", s.set.Position(call.Pos()), name)
	}
	var parameters []string
	for _, field := range f.Type.Params.List {
		for _, p := range field.Names {
			parameters = append(parameters, p.Name)
		}
	}
	bound := make(map[string]ast.Expr)
	for i, p := range parameters {
		bound[p] = call.Args[i]
		if known, ok := call.Args[i].(*ast.Ident); ok && names[known.Name] != nil {
			bound[p] = names[known.Name]
		}
	}
	inner := &logScan{folderSource: s.folderSource, t: s.t, texts: bound, begun: map[string]*logLine{parameters[at]: line}, since: map[string]int{parameters[at]: 0}}
	if may {
		inner.depth, inner.since[parameters[at]] = 1, 0
	}
	inner.walk(f.Body)
}

// text returns a text of the program up to the first part that varies, which becomes an ellipsis.
func (s *logScan) text(e ast.Expr, names map[string]ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		if err != nil {
			return "…"
		}
		return text
	case *ast.BinaryExpr:
		left := s.text(e.X, names)
		if strings.HasSuffix(left, "…") {
			return left
		}
		return left + s.text(e.Y, names)
	case *ast.Ident:
		if set := s.texts[e.Name]; set != nil {
			delete(s.texts, e.Name) // a text may contain what it was before
			defer func() { s.texts[e.Name] = set }()
			return s.text(set, names)
		}
	case *ast.SelectorExpr:
		if folder, ok := e.X.(*ast.Ident); ok && slices.Contains(folders(s.t), "pkg/"+folder.Name) {
			if set := source(s.t, "pkg/"+folder.Name).consts[e.Sel.Name]; set != nil {
				return s.text(set, names)
			}
		}
	case *ast.CallExpr:
		if f, ok := e.Fun.(*ast.SelectorExpr); ok && f.Sel.Name == "Sprintf" {
			text, _, found := strings.Cut(s.text(e.Args[0], names), "%")
			if found {
				text += "…"
			}
			return text
		}
	}
	return "…"
}
