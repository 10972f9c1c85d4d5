// Package pkg_test tests the structure of the program: which packages import which, and that the
// cores stay pure.
package pkg_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// layers lists the packages of the program. Each imports only packages after it; tests may import
// others.
var layers = strings.Fields(`
	coordinator worker
	pkg/session pkg/page pkg/display pkg/report
	pkg/coordinator pkg/coordinator/core pkg/worker pkg/worker/core
	pkg/runs pkg/audit pkg/progress pkg/bus/natsserver pkg/bus pkg/join proto/nqueens/v1
	pkg/ledger pkg/estimate pkg/count pkg/split pkg/symmetry
	pkg/kernel/opencl pkg/kernel/opencl/internal/cl pkg/halves pkg/kernel pkg/enumerate
	pkg/cli pkg/humanize pkg/queens pkg/durable pkg/parallel`)

// apart lists packages that no package in layers imports: packages for tests, and programs that are
// not part of the product.
var apart = strings.Fields(`
	pkg pkg/cli/clitest pkg/kernel/kerneltest pkg/oracle pkg/testkit
	pkg/testkit/disputed pkg/testkit/liar
	docs/check/cover`)

// only maps the beginning of an import path to the packages that may import such packages.
var only = map[string][]string{
	"nqueens/pkg/cli":                 {"coordinator", "worker"},
	"nqueens/proto/":                  {"pkg/bus"}, // no other package knows the wire's types
	"google.golang.org/protobuf/":     {"pkg/bus", "proto/nqueens/v1"},
	"github.com/nats-io/nats.go":      {"pkg/bus"},
	"github.com/nats-io/nats-server/": {"pkg/bus/natsserver"},
	"github.com/ebitengine/purego":    {"pkg/kernel/opencl/internal/cl"}, // it calls C
}

func TestLayers(t *testing.T) {
	for _, line := range list(t, "-tags", "opencl", "-f", `{{.ImportPath}} {{join .Imports " "}}`,
		"nqueens/...") {
		imports := strings.Fields(line)
		name := strings.TrimPrefix(imports[0], "nqueens/")
		if slices.Contains(apart, name) {
			continue
		}
		rank := slices.Index(layers, name)
		if rank < 0 {
			t.Errorf("%s is in no layer: add it to layers or apart", name)
		}
		for _, imported := range imports[1:] {
			if ours, isOurs := strings.CutPrefix(imported, "nqueens/"); isOurs &&
				slices.Index(layers, ours) <= rank {
				t.Errorf("%s imports %s, which does not stand below it", name, imported)
			}
			for module, users := range only {
				if strings.HasPrefix(imported+"/", module) && !slices.Contains(users, name) {
					t.Errorf("%s imports %s: only %s may", name, imported, users)
				}
			}
		}
	}
}

// A worker does not link the server, which is megabytes of code. No program links the generator of
// the manual pages. Only a build with the tag opencl calls C.
func TestLinked(t *testing.T) {
	t.Setenv("CGO_ENABLED", "0")
	for command, forbidden := range map[string][]string{
		"worker":      {"nats-server", "cobra/doc", "ebitengine/purego", "runtime/cgo"},
		"coordinator": {"cobra/doc", "ebitengine/purego", "runtime/cgo"},
	} {
		for _, linked := range list(t, "-deps", "nqueens/"+command) {
			for _, f := range forbidden {
				if strings.Contains(linked, f) {
					t.Errorf("%s links %s", command, linked)
				}
			}
		}
	}
}

// pure lists the files that decide without I/O, goroutines, locks, random numbers or a clock.
var pure = []string{"coordinator/core/*.go", "worker/core/*.go", "ledger/fold.go",
	"ledger/facts.go", "ledger/query.go"}

// harmless lists all that these files may import, except for packages of the project.
var harmless = strings.Fields(`cmp container/heap container/list crypto/hmac crypto/sha256 encoding/binary errors fmt maps math math/big
	slices sort strconv strings time`)

// harmful lists the names of imported packages that read a clock, wait, or do I/O.
var harmful = map[string][]string{
	"time":   strings.Fields("After AfterFunc NewTicker NewTimer Now Since Sleep Tick Until"),
	"fmt":    strings.Fields("Print Printf Println Fprint Fprintf Fprintln Scan Scanf Scanln"),
	"ledger": strings.Fields("Create Load Lock Open"),
}

func TestPure(t *testing.T) {
	for _, pattern := range pure {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("no files %s: %v", pattern, err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			for _, impurity := range impurities(t, file) {
				t.Error(impurity)
			}
		}
	}
}

// impurities returns what a pure file must not have, with its position.
func impurities(t *testing.T, file string) (found []string) {
	t.Helper()
	files := token.NewFileSet()
	tree, err := parser.ParseFile(files, file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	report := func(n ast.Node, what string) {
		found = append(found, files.Position(n.Pos()).String()+": "+what)
	}
	ast.Inspect(tree, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			path := strings.Trim(n.Path.Value, `"`)
			if !slices.Contains(harmless, path) && !strings.HasPrefix(path, "nqueens/pkg/") {
				report(n, "an import of "+path)
			}
		case *ast.GoStmt, *ast.ChanType, *ast.SelectStmt, *ast.SendStmt:
			report(n, "a goroutine or a channel")
		case *ast.SelectorExpr:
			from, isName := n.X.(*ast.Ident)
			if isName && slices.Contains(harmful[from.Name], n.Sel.Name) {
				report(n, from.Name+"."+n.Sel.Name)
			}
		}
		return true
	})
	return found
}

func list(t *testing.T, args ...string) []string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", append([]string{"list"}, args...)...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v\n%s", cmd, err, stderr.String())
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}
