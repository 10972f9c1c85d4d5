// Command disputed makes a run with an open dispute out of a complete run, for tests:
//
//	disputed LEDGER FOLDER
//
// In the new run, which is below FOLDER, machine liar has counted all tasks, two of them wrong.
// Machine honest has counted one of these two. Nothing is recounted yet. The command prints the
// name of the run.
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"nqueens/pkg/ledger"
	"nqueens/pkg/queens"
	"nqueens/pkg/testkit"
)

func main() {
	run, err := dispute(os.Args[1], os.Args[2])
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(run)
}

// dispute makes the run and returns its name.
func dispute(path, folder string) (run string, err error) {
	header, results, err := read(path)
	if err != nil {
		return "", err
	}
	if len(results) < 4 {
		return "", fmt.Errorf("%s has %d results, fewer than 4", path, len(results))
	}
	header.Run += "-disputed"
	log, err := ledger.Create(filepath.Join(folder, header.Run, ledger.File), *header)
	if err != nil {
		return "", err
	}
	honest := *results[1]
	honest.Machine, honest.Counts = testkit.Machine("honest"), slices.Clone(honest.Counts)
	for i, r := range results {
		r.Machine = testkit.Machine("liar")
		if i == 1 || i == len(results)-1 {
			r.Counts[0] += 1000
		}
	}
	s := ledger.NewState(header)
	for _, r := range append([]*ledger.Result{results[0], results[1], &honest}, results[2:]...) {
		change, applied := s.Apply(r)
		if err = errors.Join(applied, log.Write(append(change.Disputes, r)...)); err != nil {
			break
		}
	}
	mark := &ledger.Mark{State: queens.Running, Solutions: (*queens.Decimal)(s.Solutions()),
		At: time.Now().UTC()}
	return header.Run, errors.Join(err, log.Write(mark), log.Close())
}

// read returns the header and the results of a log.
func read(path string) (header *ledger.Header, results []*ledger.Result, err error) {
	err = ledger.Read(path, func(r ledger.Record) error {
		switch r := r.(type) {
		case *ledger.Header:
			header = r
		case *ledger.Result:
			kept := *r
			kept.Counts = slices.Clone(r.Counts)
			results = append(results, &kept)
		}
		return nil
	})
	return header, results, err
}
