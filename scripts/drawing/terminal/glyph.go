package main

// Characters that must join their neighbours without a seam are drawn as shapes, not as
// text: block elements (U+2580..259F), and the common box drawing characters.

// area is a part of a cell: edges in eighths of its width and height, and how dense it
// is, 0..1.
type area struct {
	left, top, right, bottom float64
	density                  float64
}

// blocks returns the parts of a cell that a block element fills, nil for any other
// character.
func blocks(r rune) []area {
	switch {
	case r == '▀':
		return []area{{0, 0, 8, 4, 1}}
	case r >= '▁' && r <= '█':
		return []area{{0, 8 - float64(r-'▁'+1), 8, 8, 1}}
	case r >= '▉' && r <= '▏':
		return []area{{0, 0, 8 - float64(r-'▉'+1), 8, 1}}
	case r == '▐':
		return []area{{4, 0, 8, 8, 1}}
	case r >= '░' && r <= '▓':
		return []area{{0, 0, 8, 8, float64(r-'░'+1) / 4}}
	case r == '▔':
		return []area{{0, 0, 8, 1, 1}}
	case r == '▕':
		return []area{{7, 0, 8, 8, 1}}
	case r >= '▖' && r <= '▟':
		return quadrants(r)
	}
	return nil
}

// quadrants returns the quarters of a cell that ▖ to ▟ fill.
func quadrants(r rune) []area {
	quarters := [4]area{{0, 0, 4, 4, 1}, {4, 0, 8, 4, 1}, {0, 4, 4, 8, 1}, {4, 4, 8, 8, 1}}
	filled := [10][]int{{2}, {3}, {0}, {0, 2, 3}, {0, 3}, {0, 1, 2}, {0, 1, 3}, {1}, {1, 2}, {1, 2, 3}}
	var areas []area
	for _, q := range filled[r-'▖'] {
		areas = append(areas, quarters[q])
	}
	return areas
}

// lines has box drawing characters: the weight of their lines from the middle of the
// cell to the left, the right, up and down; 0 for none, 1 for light, 2 for heavy.
var lines = map[rune][4]int{
	'─': {1, 1, 0, 0}, '│': {0, 0, 1, 1}, '━': {2, 2, 0, 0}, '┃': {0, 0, 2, 2},
	'┌': {0, 1, 0, 1}, '┐': {1, 0, 0, 1}, '└': {0, 1, 1, 0}, '┘': {1, 0, 1, 0},
	'├': {0, 1, 1, 1}, '┤': {1, 0, 1, 1}, '┬': {1, 1, 0, 1}, '┴': {1, 1, 1, 0}, '┼': {1, 1, 1, 1},
	'┏': {0, 2, 0, 2}, '┓': {2, 0, 0, 2}, '┗': {0, 2, 2, 0}, '┛': {2, 0, 2, 0},
	'┣': {0, 2, 2, 2}, '┫': {2, 0, 2, 2}, '┳': {2, 2, 0, 2}, '┻': {2, 2, 2, 0}, '╋': {2, 2, 2, 2},
	'╴': {1, 0, 0, 0}, '╵': {0, 0, 1, 0}, '╶': {0, 1, 0, 0}, '╷': {0, 0, 0, 1},
	'╸': {2, 0, 0, 0}, '╹': {0, 0, 2, 0}, '╺': {0, 2, 0, 0}, '╻': {0, 0, 0, 2},
	'╼': {1, 2, 0, 0}, '╾': {2, 1, 0, 0},
}

// corners has the round corners: the side to the left or right that they join, -1 or 1,
// and the one up or down.
var corners = map[rune][2]float64{'╭': {1, 1}, '╮': {-1, 1}, '╰': {1, -1}, '╯': {-1, -1}}
