package docs_test

import (
	"fmt"
	"go/ast"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"nqueens/pkg/testkit"
)

// The tables of JSON objects have the fields of their types in Go: names, types and comments. A page
// names the type:
//
//	<!-- generated: json pkg/report.Result -->
//	<!-- end -->
//
// After the type, "without" and an embedded type leave out the fields of that one. An object within an
// object is described in the row of its field, unless it has a table. In a comment, "text" in quotes
// becomes code.
func TestGeneratedJSON(t *testing.T) {
	marker := regexp.MustCompile(`<!-- generated: (json ([\w/]+)\.(\w+)(?: without ([\w/.]+))?) -->`)
	j := &jsonTables{t: t, have: make(map[string]bool)}
	tables := make(map[string][][]string)
	for path, text := range pages(t) {
		tables[path] = marker.FindAllStringSubmatch(text, -1)
		for _, m := range tables[path] {
			j.have[m[2]+"."+m[3]] = true
		}
	}
	if len(j.have) < 10 {
		t.Errorf("found %d tables of JSON objects", len(j.have))
	}
	for path, ofPage := range tables {
		page, _ := filepath.Rel(root, path) // both are relative
		for _, m := range ofPage {
			rows := "| field | type | meaning |\n|---|---|---|\n"
			for _, f := range j.fields(m[2], m[3], m[4]) {
				if f.meaning == "" {
					t.Errorf("%s: the field %s of %s has no comment, which its table in %s needs", m[2], f.name, m[3], page)
				}
				rows += fmt.Sprintf("| `%s` | %s | %s |\n", f.name, f.kind, strings.ReplaceAll(f.meaning, "|", `\|`))
			}
			testkit.Generated(t, page, m[1], rows)
		}
	}
}

// jsonTables makes the tables of pages.
type jsonTables struct {
	t    *testing.T
	have map[string]bool // the types that have a table, by folder and name
}

// jsonField is a row of a table.
type jsonField struct{ name, kind, meaning string }

// fields returns the fields of a struct in a folder of the repository, with those of embedded structs but one.
func (j *jsonTables) fields(folder, name, without string) (fields []jsonField) {
	j.t.Helper()
	declared := source(j.t, folder).types[name]
	if declared == nil {
		j.t.Fatalf("%s declares no type %s", folder, name)
	}
	object, ok := declared.spec.Type.(*ast.StructType)
	if !ok {
		j.t.Fatalf("%s.%s is no struct", folder, name)
	}
	for _, f := range object.Fields.List {
		tag := ""
		if f.Tag != nil {
			text, _ := strconv.Unquote(f.Tag.Value) // the compiler has read it
			tag = reflect.StructTag(text).Get("json")
		}
		key, options, _ := strings.Cut(tag, ",")
		switch {
		case key == "-" || tag == "" && len(f.Names) > 0:
		case tag == "": // embedded
			in, of := j.resolve(folder, declared.file, f.Type)
			if in+"."+of == without {
				continue
			}
			embedded := j.fields(in, of, "")
			if _, pointer := f.Type.(*ast.StarExpr); pointer {
				for i := range embedded {
					embedded[i].kind = strings.TrimSuffix(embedded[i].kind, ", or absent") + ", or absent"
				}
			}
			fields = append(fields, embedded...)
		default:
			kind, inner := j.kind(folder, declared.file, f.Type, options)
			meaning := codeWords(comment(f))
			if inner != "" {
				meaning = strings.TrimPrefix(meaning+": "+inner, ": ")
			}
			fields = append(fields, jsonField{key, kind, meaning})
		}
	}
	return fields
}

// comment returns the comment of a field on one line, without the full stop at its end.
func comment(f *ast.Field) string {
	text := f.Doc.Text()
	if text == "" {
		text = f.Comment.Text()
	}
	return strings.TrimSuffix(strings.Join(strings.Fields(text), " "), ".")
}

// codeWords formats quoted words as code.
func codeWords(text string) string {
	return regexp.MustCompile(`"([^"]+)"`).ReplaceAllString(text, "`$1`")
}

// kind returns the JSON type of a field, and what the objects in it have if there is no table of them.
func (j *jsonTables) kind(folder string, file *ast.File, e ast.Expr, options string) (kind, inner string) {
	j.t.Helper()
	absent := strings.Contains(options, "omit")
	if pointer, ok := e.(*ast.StarExpr); ok {
		kind, inner = j.kind(folder, file, pointer.X, "")
		if !absent {
			kind += " or null"
		}
	} else if list, ok := e.(*ast.ArrayType); ok {
		kind, inner = j.kind(folder, file, list.Elt, "")
		element, of, lists := strings.Cut(kind, " of ")
		if kind = "list of " + element + "s"; lists {
			kind += " of " + of
		}
	} else {
		kind, inner = j.named(folder, file, e)
	}
	if strings.Contains(options, "string") {
		kind = "text"
	}
	if absent {
		kind += ", or absent"
	}
	return kind, inner
}

// marshaled are the types that have a method MarshalJSON, with what they are in JSON.
var marshaled = map[string]string{"Square": "list of integers", "Seconds": "number", "Fraction": "number"}

// named returns the JSON type of a type with a name.
func (j *jsonTables) named(folder string, file *ast.File, e ast.Expr) (kind, inner string) {
	j.t.Helper()
	in, name := j.resolve(folder, file, e)
	switch {
	case in == "time" || in == "math/big":
		return "text", ""
	case in == "":
		switch {
		case name == "string":
			return "text", ""
		case name == "bool":
			return "boolean", ""
		case strings.HasPrefix(name, "float"):
			return "number", ""
		}
		return "integer", ""
	}
	p := source(j.t, in)
	declared := p.types[name]
	if declared == nil {
		j.t.Fatalf("%s declares no type %s", in, name)
	}
	if p.methods[name+".MarshalText"] {
		return "text", ""
	}
	object, ok := declared.spec.Type.(*ast.StructType)
	switch {
	case p.methods[name+".MarshalJSON"]:
		if marshaled[name] == "" {
			j.t.Fatalf("%s: docs/json_test.go does not know what %s is in JSON", in, name)
		}
		return marshaled[name], ""
	case !ok:
		return j.kind(in, declared.file, declared.spec.Type, "")
	case j.have[in+"."+name] || object.Fields.NumFields() == 0:
		return "object", ""
	}
	var parts []string
	for _, f := range j.fields(in, name, "") {
		part := "`" + f.name + "`"
		if f.meaning != "" {
			part += " (" + f.meaning + ")"
		}
		parts = append(parts, part)
	}
	return "object", strings.Join(parts, ", ")
}

// resolve returns the folder, or the package of Go, in which a type is declared, and its name there. The
// types of the language are in no folder.
func (j *jsonTables) resolve(folder string, file *ast.File, e ast.Expr) (in, name string) {
	j.t.Helper()
	switch e := e.(type) {
	case *ast.StarExpr:
		return j.resolve(folder, file, e.X)
	case *ast.Ident:
		if source(j.t, folder).types[e.Name] == nil {
			return "", e.Name
		}
		return folder, e.Name
	case *ast.SelectorExpr:
		for _, i := range file.Imports {
			path, _ := strconv.Unquote(i.Path.Value) // the compiler has read it
			if qualifier, ok := e.X.(*ast.Ident); ok && filepath.Base(path) == qualifier.Name {
				return strings.TrimPrefix(path, "nqueens/"), e.Sel.Name
			}
		}
	}
	j.t.Fatalf("%s: no table of JSON can have a field of type %T", folder, e)
	return "", ""
}
