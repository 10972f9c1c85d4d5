package cli

import (
	"slices"
	"testing"

	"github.com/spf13/cobra"
)

// A variable whose name is nearly that of a flag's variable is found, and no other.
func TestMisspelled(t *testing.T) {
	cmd := new(cobra.Command)
	cmd.PersistentFlags().String("log-level", "", "")
	cmd.Flags().String("nats", "", "")
	cmd.Flags().String("threads", "", "")
	const level, threads = "NQUEENS_LOG_LEVEL", "NQUEENS_THREADS"
	for variable, want := range map[string]string{
		"NQUEENS_LOGLEVEL=debug": level, "nqueens_log_level=debug": level,
		"NQUEENS_OLG_LEVEL=debug": level,
		"NQUEENS_LOG_LVEL=debug":  level, "NQUEENS_LOG_LEVELS=debug": level, "NQUEENS_THREDAS=1": threads,
		"NQUEENS_LOG_LEVEL=debug": "", "NQUEENS_LOGLEVEL=": "", "LOGLEVEL=debug": "",
		"NQUEENS_DATA=/data":   "",
		"NQUEENS_REDUNDANCY=2": "", "NQUEENS_TREES=1": "", "NQUEENS_NATX=1": "",
	} {
		got := misspelled([]string{variable}, cmd)
		if want == "" && got != nil || want != "" && (len(got) != 1 || got[0][1] != want) {
			t.Errorf("%s: %q, want %q", variable, got, want)
		}
	}
	if got := misspelled([]string{"NQUEENS_THREAD=1", "NQUEENS_LOGLEVEL=x"}, cmd); len(got) != 2 ||
		!slices.IsSortedFunc(got, func(a, b [2]string) int { return slices.Compare(a[:], b[:]) }) {
		t.Errorf("two variables give %q", got)
	}
}
