package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"nqueens/pkg/cli"
	"nqueens/pkg/count"
	"nqueens/pkg/kernel"
	"nqueens/pkg/queens"
	"nqueens/pkg/report"
)

// benchReport is what bench prints.
type benchReport struct {
	N     int    `json:"n"`     // side of the board
	Total string `json:"total"` // number of solutions
	// Seconds is the time to split the board and to search it, without the start of the process.
	Seconds  float64         `json:"seconds"`
	Method   queens.Method   `json:"method"`   // "prefixes" or "halves"
	Kernel   string          `json:"kernel"`   // kernel that searched
	Threads  int             `json:"threads"`  // threads or devices that searched
	Symmetry queens.Symmetry `json:"symmetry"` // "full", "mirror" or "none"
}

func benchCommand() *cobra.Command {
	var search searchFlags
	var symmetry, method string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "bench N",
		Short: "Time a count in this process",
		Long: `Count the ways to place N queens on a board of side N (1 to 32) in this process, without a
server, and print the total and the time of the search. Exit 3 says that the total is not the
published one.`,
		Example: `  worker bench 16
  worker bench 14 --kernel generic --threads 1 --json`,
		Args: cli.Arguments(1, 1, "one argument, the side N of the board"),
		RunE: func(cmd *cobra.Command, args []string) error {
			n, err := cli.ParseN(args[0])
			if err != nil {
				return err
			}
			k, counters, err := search.together()
			if err != nil {
				return err
			}
			byHalves, err := search.halves()
			if err != nil {
				return err
			}
			start := time.Now()
			if queens.Method(method) == queens.Halves { // on the processor
				if queens.Symmetry(symmetry) != queens.Full {
					return cli.Usagef("--method %s uses all symmetries: leave out --symmetry %s", queens.Halves,
						symmetry)
				}
				k, counters = kernel.Reference(), search.threads
			}
			job := count.Job{
				Method: queens.Method(method), N: n, Symmetry: queens.Symmetry(symmetry), Kernel: k,
				Halves: byHalves, Threads: counters,
			}
			total, err := count.Run(cmd.Context(), job)
			if err != nil {
				return err
			}
			r := benchReport{
				N: n, Total: total.String(), Seconds: time.Since(start).Seconds(),
				Method: job.Method, Kernel: job.Kernel.Name, Threads: job.Threads, Symmetry: job.Symmetry,
			}
			if job.Method == queens.Halves {
				r.Kernel = queens.HalvesPrefix + job.Halves.Name
			}
			if queens.Compare(n, nil, total) == queens.Mismatch {
				return fmt.Errorf("%w: kernel %s counted %d, not the published total", queens.ErrContradiction,
					r.Kernel, total)
			}
			if asJSON {
				return report.WriteJSON(cmd.OutOrStdout(), r)
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(),
				"n=%d total=%s seconds=%.3f method=%s kernel=%s threads=%d symmetry=%s\n",
				r.N, r.Total, r.Seconds, r.Method, r.Kernel, r.Threads, r.Symmetry)
			return err
		},
	}
	flags := cmd.Flags()
	search.register(cmd)
	cli.Method(flags, &method, "count by this method")
	cli.Symmetry(flags, &symmetry,
		"count with all eight images of a board, with mirror images or with none")
	flags.BoolVar(&asJSON, "json", false, "print the result as a JSON object")
	return cmd
}
