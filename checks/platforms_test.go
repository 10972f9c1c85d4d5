package checks

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The programs have no type errors on the systems for which a release is built, on Linux also with
// the tag for GPUs. On riscv64 only the worker is built. scripts/nightly compiles all of them.
func TestPlatforms(t *testing.T) {
	for _, c := range []struct{ system, arch, tags string }{
		{"linux", "amd64", "opencl"}, {"linux", "arm64", ""}, {"linux", "arm64", "opencl"},
		{"linux", "riscv64", ""}, {"darwin", "amd64", ""}, {"darwin", "arm64", ""},
		{"windows", "amd64", ""}, {"windows", "arm64", ""},
	} {
		t.Run(strings.TrimSpace(c.system+"/"+c.arch+" "+c.tags), func(t *testing.T) {
			t.Parallel()
			programs := []string{"./coordinator", "./worker"}
			if c.arch == "riscv64" {
				programs = programs[1:]
			}
			checked := checkTypes(t, c.system, c.arch, c.tags, programs...)
			for _, program := range programs {
				if !checked["nqueens"+strings.TrimPrefix(program, ".")] {
					t.Errorf("%s was not checked", program)
				}
			}
		})
	}
}

// listed is the part of the output of go list that the test uses.
type listed struct {
	Dir, ImportPath string
	GoFiles, SFiles []string          // names in Dir
	ImportMap       map[string]string // import paths that mean a package with another path
	Module          struct{ Main bool }
}

// checkTypes checks the types of packages, and of the packages that they import, without compiling.
// Of other modules it checks only the declarations. It returns which packages of this module it has
// checked.
func checkTypes(t *testing.T, system, arch, tags string, patterns ...string) map[string]bool {
	t.Helper()
	args := []string{"list", "-deps", "-tags", tags,
		"-json=Dir,ImportPath,GoFiles,SFiles,ImportMap,Module"}
	cmd := exec.Command("go", append(args, patterns...)...)
	cmd.Dir, cmd.Stderr = "..", os.Stderr
	cmd.Env = append(os.Environ(), "GOOS="+system, "GOARCH="+arch, "CGO_ENABLED=0", "GOWORK=off")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	done := map[string]*types.Package{"unsafe": types.Unsafe}
	own := make(map[string]bool)
	// go list prints a package after those that it imports.
	for packages := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := packages.Decode(&p); errors.Is(err, io.EOF) {
			return own
		} else if err != nil {
			t.Fatal(err)
		}
		if p.ImportPath == "unsafe" {
			continue
		}
		fset := token.NewFileSet()
		config := types.Config{
			IgnoreFuncBodies: !p.Module.Main, Sizes: types.SizesFor("gc", arch),
			Error: func(err error) { t.Error(err) },
			Importer: imports(func(path string) (*types.Package, error) {
				if mapped := p.ImportMap[path]; mapped != "" {
					path = mapped
				}
				if done[path] == nil {
					return nil, errors.New("go list has not printed it before the package that imports it")
				}
				return done[path], nil
			}),
		}
		done[p.ImportPath], _ = config.Check(p.ImportPath, fset, p.parse(t, fset), nil)
		if p.Module.Main {
			own[p.ImportPath] = true
		}
	}
}

// parse parses the files of a package. In this module, a function without a body needs assembly.
func (p *listed) parse(t *testing.T, fset *token.FileSet) (files []*ast.File) {
	t.Helper()
	for _, name := range p.GoFiles {
		file, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil,
			parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
		for _, d := range file.Decls {
			f, isFunc := d.(*ast.FuncDecl)
			if isFunc && f.Body == nil && p.Module.Main && len(p.SFiles) == 0 {
				t.Errorf("%s: %s has no body", fset.Position(f.Pos()), f.Name)
			}
		}
	}
	return files
}

// imports is a types.Importer.
type imports func(path string) (*types.Package, error)

func (f imports) Import(path string) (*types.Package, error) { return f(path) }
