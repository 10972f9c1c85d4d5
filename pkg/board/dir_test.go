package board

import (
	"os"
	"path/filepath"
	"testing"
)

// File names sort like the boards and do not depend on how many are written.
func TestNumberWidth(t *testing.T) {
	for _, c := range []struct {
		s    Selection
		want int
	}{
		{Selection{N: 8}, 2}, {Selection{N: 8, Unique: true}, 2}, {Selection{N: 12}, 5}, {Selection{N: 27}, 9},
		{Selection{N: 32}, 9}, {Selection{N: 2}, 1}, {Selection{N: 1000, Any: true}, 1},
	} {
		if got := c.s.numberWidth(); got != c.want {
			t.Errorf("%+v: %d digits, want %d", c.s, got, c.want)
		}
	}
}

// An existing file is never overwritten: the same contents count as written, others are an
// error.
func TestDirKeepsExistingFiles(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "new", "folder")
	write := func(b Board) error {
		t.Helper()
		d, err := NewDir(folder, "text", Selection{N: 4, Unique: true})
		if err != nil {
			t.Fatal(err)
		}
		return d.Write(b)
	}
	b := Board{Columns: []int{1, 3, 0, 2}, Images: 2}
	for range 2 {
		if err := write(b); err != nil {
			t.Fatal(err)
		}
	}
	name := filepath.Join(folder, "solve-n4-unique-1.txt")
	const want = ".Q..\n...Q\nQ...\n..Q.\n2 images\n"
	if got, err := os.ReadFile(name); err != nil || string(got) != want {
		t.Errorf("%q, error %v, want %q", got, err, want)
	}
	b.Images = 0
	if err := write(b); err == nil {
		t.Error("another board overwrites the first")
	}
	if got, err := os.ReadFile(name); err != nil || string(got) != want {
		t.Errorf("after the error %q, error %v, want %q", got, err, want)
	}
}
