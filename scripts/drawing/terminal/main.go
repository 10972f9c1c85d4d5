// Command terminal draws what a terminal shows: it reads a screen, as tmux's
// capture-pane -e -p prints it, and writes it as a picture (SVG) in which every
// character stands exactly in its cell. scripts/draw-terminal runs it.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
)

func main() {
	columns := flag.Int("columns", 80, "width of the terminal in cells")
	title := flag.String("title", "", "what stands in the window's title bar")
	flag.Parse()
	if err := run(os.Stdin, os.Stdout, *columns, *title); err != nil {
		fmt.Fprintln(os.Stderr, "terminal:", err)
		os.Exit(1)
	}
}

func run(r io.Reader, w io.Writer, columns int, title string) error {
	text, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	rows, err := parse(string(text), columns)
	if err != nil {
		return err
	}
	_, err = w.Write(draw(rows, columns, title))
	return err
}
