package report

import (
	"fmt"
	"io"

	"nqueens/pkg/humanize"
	"nqueens/pkg/ledger"
)

// WriteBackup writes what a copy of a ledger holds, as a line of text or a JSON object.
func WriteBackup(w io.Writer, c *ledger.Contents, asJSON bool) error {
	if asJSON {
		return writeJSON(w, c)
	}
	_, err := fmt.Fprintf(w, "run %s: %d of %d tasks, all checksums are right, %s in %s\n",
		c.Run, c.Done, c.Tasks, humanize.Bytes(uint64(c.Bytes)), c.File)
	return err
}
