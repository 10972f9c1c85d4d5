package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"nqueens/pkg/cli"
	"nqueens/pkg/humanize"
	"nqueens/pkg/report"
	"nqueens/pkg/runstore"
)

// reportFlag is --report: the file of a report to keep.
type reportFlag struct{ path string }

func (r *reportFlag) register(flags *pflag.FlagSet) {
	flags.StringVar(&r.path, "report", "", "write a report to this `FILE`, one HTML page")
	_ = cobra.MarkFlagFilename(flags, "report", "html") // fails only for unknown flags
}

// check returns an error if there is a file to write and it can't be written: before hours of work.
func (r *reportFlag) check() error {
	if r.path == "" {
		return nil
	}
	if err := report.CheckFile(r.path); err != nil {
		return cli.Usagef("--report: %w", err)
	}
	return nil
}

// write writes the page and says so. An error says how to write the page elsewhere: the run is not affected.
func (r *reportFlag) write(app *cli.App, d *report.Document, store *runstore.Store, name string, ended error) error {
	describe(d, store, name, ended)
	if err := d.WriteFile(r.path); err != nil {
		verb := "resume"
		if d.Verification != nil {
			verb = "verify"
		}
		return fmt.Errorf("%w; the run is not affected: %s writes another", err,
			humanize.ShellWords("coordinator", verb, name, "--report", "FILE", "--data", store.Path()))
	}
	app.Log.Info().Str("run", name).Str("file", r.path).Msg("the report is written")
	return nil
}

// describe adds to a report how its command ended, where it was made, and how to check the run again.
func describe(d *report.Document, store *runstore.Store, name string, ended error) *report.Document {
	if ended != nil {
		d.Ended = cli.OneLine(ended)
	}
	folder, err := filepath.Abs(store.Path()) // the page may be read elsewhere
	if err != nil {
		folder = store.Path()
	}
	d.Store, d.Folder, d.Again = folder, filepath.Join(folder, name), restartCommand(&d.Survey.Manifest)
	d.Program, d.Machine, d.Written = "coordinator "+cli.Version(), machine(), time.Now()
	return d
}

// machine describes this machine.
func machine() string {
	host, err := os.Hostname()
	if err != nil {
		host = "an unnamed host"
	}
	return fmt.Sprintf("%s, %s/%s, %d threads", host, runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
}
