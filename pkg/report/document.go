package report

import (
	_ "embed"
	"errors"
	"html/template"
	"io"
	"time"

	"nqueens/pkg/audit"
	"nqueens/pkg/run"
)

// Document is a report to keep of a run or of its verification: one HTML page without scripts that refers to
// nothing outside itself. It has all that its result has, and what a survey of the ledger and measurements
// add. Names in it may come from anybody: the page escapes them.
type Document struct {
	// The page is of one of these two.
	Result       *Result
	Verification *audit.Verification

	Survey  *run.Survey
	History []run.Sample // at times that all coordinators of the run have worked on it; may be empty
	Ended   string       // the error with which the command ended; empty for none

	Folder string // of the run and its ledger
	Store  string // folder of all runs, for --data
	Resume string // command that resumes the run; empty if this machine can't
	Again  string // command that counts the same from the beginning

	Program, Machine string // that wrote the page
	Written          time.Time
}

var (
	//go:embed document.html
	documentHTML string
	//go:embed document.css
	documentCSS string

	documentTemplate = template.Must(template.New("document").Funcs(functions).Parse(documentHTML))
)

// Write writes the page.
func (d *Document) Write(w io.Writer) error {
	if d.Survey == nil || (d.Result == nil) == (d.Verification == nil) {
		return errors.New("a report needs a survey, and either a result or a verification")
	}
	return documentTemplate.Execute(w, newDocumentView(d))
}
