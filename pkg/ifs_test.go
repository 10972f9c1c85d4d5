package pkg_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// An if statement begins with nothing but an error or a new variable: whatever else happens has a
// line of its own, where a reader sees it.
func TestIfsHaveNoSideEffects(t *testing.T) {
	files := token.NewFileSet()
	seen := 0
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") {
			return err
		}
		tree, err := parser.ParseFile(files, path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(tree, func(n ast.Node) bool {
			if branch, isIf := n.(*ast.IfStmt); isIf && branch.Init != nil {
				seen++
				if !isHarmless(branch.Init) {
					t.Errorf("%s: an if with a side effect", files.Position(branch.Pos()))
				}
			}
			return true
		})
		return nil
	})
	if err != nil || seen == 0 {
		t.Errorf("%d such statements, error %v", seen, err)
	}
}

// isHarmless reports whether a statement only makes new variables, or sets err, ok or failed.
func isHarmless(s ast.Stmt) bool {
	assign, isAssign := s.(*ast.AssignStmt)
	if !isAssign || assign.Tok != token.ASSIGN {
		return isAssign && assign.Tok == token.DEFINE
	}
	for _, to := range assign.Lhs {
		name, isName := to.(*ast.Ident)
		if isName && (name.Name == "err" || name.Name == "ok" || name.Name == "failed") {
			return true
		}
	}
	return false
}
