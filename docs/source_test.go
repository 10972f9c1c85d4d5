package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// folderSource is the syntax of the Go files of a folder, without tests.
type folderSource struct {
	set     *token.FileSet
	files   []*ast.File
	types   map[string]*typeSource
	funcs   map[string]*ast.FuncDecl // functions and methods, by name alone
	methods map[string]bool          // Type.Method
	consts  map[string]ast.Expr      // values of constants
}

// typeSource is the declaration of a type, and the file that has it.
type typeSource struct {
	file *ast.File
	spec *ast.TypeSpec
}

// sources are the folders that were parsed, by their paths in the repository.
var sources = make(map[string]*folderSource)

// source returns the syntax of a folder.
func source(t *testing.T, folder string) *folderSource {
	t.Helper()
	if s := sources[folder]; s != nil {
		return s
	}
	s := &folderSource{
		set: token.NewFileSet(), types: make(map[string]*typeSource), funcs: make(map[string]*ast.FuncDecl),
		methods: make(map[string]bool), consts: make(map[string]ast.Expr),
	}
	names, err := filepath.Glob(filepath.Join(root, folder, "*.go"))
	if err != nil || len(names) == 0 {
		t.Fatalf("%d Go files in %s (%v)", len(names), folder, err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		file, err := parser.ParseFile(s.set, name, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		s.add(file)
	}
	sources[folder] = s
	return s
}

// add adds the declarations of a file.
func (s *folderSource) add(file *ast.File) {
	s.files = append(s.files, file)
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			s.funcs[d.Name.Name] = d
			if d.Recv != nil {
				s.methods[receiver(d)+"."+d.Name.Name] = true
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch one := spec.(type) {
				case *ast.TypeSpec:
					s.types[one.Name.Name] = &typeSource{file, one}
				case *ast.ValueSpec:
					for i, value := range one.Values {
						if d.Tok == token.CONST {
							s.consts[one.Names[i].Name] = value
						}
					}
				}
			}
		}
	}
}

// receiver returns the type whose method a function is.
func receiver(d *ast.FuncDecl) string {
	e := d.Recv.List[0].Type
	if pointer, ok := e.(*ast.StarExpr); ok {
		e = pointer.X
	}
	if name, ok := e.(*ast.Ident); ok {
		return name.Name
	}
	return "" // of a generic type
}
