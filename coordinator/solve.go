package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"iter"

	"github.com/spf13/cobra"

	"nqueens/pkg/cli"
	"nqueens/pkg/enumerate"
	"nqueens/pkg/humanize"
	"nqueens/pkg/queens"
)

// solveCommand is coordinator solve: it prints the solutions themselves.
func solveCommand(app *cli.App) *cobra.Command {
	var limit uint
	var unique, asJSON bool
	cmd := &cobra.Command{
		Use:   "solve N",
		Short: "Print the solutions themselves, in a fixed order",
		Long: `Print every way to place N queens on a board of side N (1 to 32), in a fixed order: boards
whose top queen is farthest left come first. As text, a board is N lines of dots and Qs, and an
empty line separates boards. With --json, a board is a line with the column of the queen on each
row, counted from 0.`,
		Example: `  coordinator solve 4
  coordinator solve 8 --unique --json
  coordinator solve 27 --limit 1`,
		Args: oneN,
		RunE: func(cmd *cobra.Command, args []string) error {
			n, err := cli.ParseN(args[0])
			if err != nil {
				return err
			}
			boards := allBoards(cmd.Context(), n)
			if unique {
				boards = enumerate.Unique(cmd.Context(), n)
			}
			written, err := writeBoards(cmd.OutOrStdout(), boards, limit, asJSON)
			switch ended := context.Cause(cmd.Context()); {
			case err != nil:
				return err
			case ended != nil:
				return ended
			case written == 0:
				app.Log.Info().Int("n", n).Msg("there is no solution")
			}
			return nil
		},
	}
	flags := cmd.Flags()
	flags.UintVar(&limit, "limit", 0, "print at most `N` boards; 0 prints all")
	flags.BoolVar(&asJSON, "json", false, "print each board as a JSON array on a line")
	flags.BoolVar(&unique, "unique", false,
		"print one board of each family of rotations and reflections, and the number of its images")
	return cmd
}

// allBoards yields all solutions of side n, with 0 in place of the number of images.
func allBoards(ctx context.Context, n int) iter.Seq2[[]int, int] {
	return func(yield func([]int, int) bool) {
		for columns := range enumerate.Boards(ctx, queens.FullBoard(n)) {
			if !yield(columns, 0) {
				return
			}
		}
	}
}

// writeBoards writes at most limit boards, or all boards if limit is 0. It returns their number.
func writeBoards(
	w io.Writer, boards iter.Seq2[[]int, int], limit uint, asJSON bool,
) (written uint, err error) {
	for columns, images := range boards {
		text := boardText(columns, images)
		if written > 0 {
			text = append([]byte{'\n'}, text...)
		}
		if asJSON {
			text = boardJSON(columns, images)
		}
		// one write for each board: hours may pass until the next
		if _, err := w.Write(text); err != nil {
			return written, err
		}
		written++
		if written == limit {
			break
		}
	}
	return written, nil
}

// boardText returns a line of dots and a Q for each row of a board. If the number of images is not
// 0, a line with it follows.
func boardText(columns []int, images int) []byte {
	n := len(columns)
	text := bytes.Repeat(append(bytes.Repeat([]byte{'.'}, n), '\n'), n)
	for row, column := range columns {
		text[row*(n+1)+column] = 'Q'
	}
	if images > 0 {
		text = append(text, humanize.Plural(images, "image")+"\n"...)
	}
	return text
}

// boardWithImages is a board that --unique --json prints.
type boardWithImages struct {
	Columns []int `json:"columns"` // column of the queen on each row, from the top, counted from 0
	// boards that rotations and reflections make of this one: 8, 4, 2 or 1
	Images int `json:"images"`
}

// boardJSON returns a board as a line of JSON.
func boardJSON(columns []int, images int) []byte {
	var value any = columns
	if images > 0 {
		value = boardWithImages{columns, images}
	}
	line, err := json.Marshal(value)
	if err != nil {
		panic(err) // integers can be marshaled
	}
	return append(line, '\n')
}
