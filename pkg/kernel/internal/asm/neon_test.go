package main

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// The instructions that Go's assembler lacks are encoded as LLVM 14 encodes them.
func TestEncoding(t *testing.T) {
	for _, c := range []struct {
		instruction string
		got, want   uint32
	}{
		{"bic v1.16b, v2.16b, v3.16b", encodeBIC(3, 2, 1), 0x4e631c41},
		{"bic v31.16b, v0.16b, v21.16b", encodeBIC(21, 0, 31), 0x4e751c1f},
		{"ushl v5.8h, v6.8h, v7.8h", encodeUSHL(2, 7, 6, 5), 0x6e6744c5},
		{"ushl v0.8h, v31.8h, v16.8h", encodeUSHL(2, 16, 31, 0), 0x6e7047e0},
		{"ushl v31.4s, v30.4s, v29.4s", encodeUSHL(4, 29, 30, 31), 0x6ebd47df},
	} {
		if c.got != c.want {
			t.Errorf("%s is encoded as %#08x, want %#08x", c.instruction, c.got, c.want)
		}
	}
}

// docs/dev/kernels.md has the number of instructions that each step takes for a vector.
func TestPageInstructions(t *testing.T) {
	page, err := os.ReadFile("../../../../docs/dev/kernels.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []laneSize{2, 4} {
		for name, gaps := range map[string]bool{"without gaps": false, "with gaps": true} {
			line := ""
			for _, d := range variants {
				d.gaps = gaps
				_, round, _ := strings.Cut(expandNEON(size, d.name(), d), "\nmore:\n")
				round, _, _ = strings.Cut(round, "\ncheck:\n")
				line = fmt.Sprintf(" %d |", (strings.Count(round, "\n")+1)/vectorsNEON) + line
			}
			if line = "\n| " + name + " |" + line + "\n"; !strings.Contains(string(page), line) {
				t.Errorf("docs/dev/kernels.md does not have, for lanes of %d bytes:%s", size, line)
			}
		}
	}
}
