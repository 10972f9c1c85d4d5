package main

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"nqueens/pkg/cli"
	"nqueens/pkg/count"
	"nqueens/pkg/queens"
)

// benchReport is what bench prints.
type benchReport struct {
	N     int    `json:"n"`     // side of the board
	Total string `json:"total"` // number of solutions
	// time of generating the prefixes and of the search, without the start of the process
	Seconds  float64         `json:"seconds"`
	Kernel   string          `json:"kernel"`   // kernel that searched
	Threads  int             `json:"threads"`  // threads that searched
	Symmetry queens.Symmetry `json:"symmetry"` // "full", "mirror" or "none"
}

func benchCommand() *cobra.Command {
	var search searchFlags
	var symmetry string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "bench N",
		Short: "Time a whole count in this process, without any server",
		Long: `Count the ways to place N queens on a board of side N (1 to 32) in this process, without any
server, and print the total and the time of the search. Exit 3 if the total is not the
published one.`,
		Example: `  worker bench 16
  worker bench 14 --kernel generic --threads 1 --json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			n, err := cli.ParseN(args)
			if err != nil {
				return err
			}
			chosen, threads, err := search.choose()
			if err != nil {
				return err
			}
			start := time.Now()
			job := count.Job{N: n, Symmetry: queens.Symmetry(symmetry), Kernel: chosen, Threads: threads}
			total, err := count.Run(cmd.Context(), job)
			elapsed := time.Since(start)
			if err != nil {
				return err
			}
			if known, ok := queens.KnownTotal(n); ok && total.Cmp(known) != 0 {
				return fmt.Errorf("%w: kernel %s counted %d, the published total is %d", queens.ErrContradiction, chosen.Name, total, known)
			}
			r := benchReport{
				N:        n,
				Total:    total.String(),
				Seconds:  elapsed.Seconds(),
				Kernel:   chosen.Name,
				Threads:  threads,
				Symmetry: job.Symmetry,
			}
			if asJSON {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(r)
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "n=%d total=%s seconds=%.3f kernel=%s threads=%d symmetry=%s\n",
				r.N, r.Total, r.Seconds, r.Kernel, r.Threads, r.Symmetry)
			return err
		},
	}
	flags := cmd.Flags()
	search.register(flags)
	flags.Var(cli.SymmetryFlag(&symmetry), "symmetry", "how to cut the count")
	flags.BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}
