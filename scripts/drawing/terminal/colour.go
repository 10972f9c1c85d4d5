package main

import (
	"fmt"
	"strconv"
	"strings"
)

// The terminal's own colours, and the sixteen that go by number: a dark theme, legible
// on light pages and on dark ones.
const (
	ground = "#151a21"
	ink    = "#d6dde8"
)

var named = [16]string{
	"#4a5668", "#e06c60", "#7fbf6a", "#d9b04c", "#6aa5ef", "#c58be0", "#56bfc4", "#c3cbd8",
	"#77849a", "#f28b7f", "#9bd685", "#ecc96b", "#8fbdf5", "#d9a8ee", "#7fd6da", "#f2f5fa",
}

// numbered returns colour 0..255 as xterm has it: the sixteen, a cube of 6×6×6, greys.
func numbered(i int) string {
	switch {
	case i < 16:
		return named[i]
	case i < 232:
		levels := [6]int{0, 95, 135, 175, 215, 255}
		i -= 16
		return rgb(levels[i/36], levels[i/6%6], levels[i%6])
	default:
		grey := 8 + 10*(i-232)
		return rgb(grey, grey, grey)
	}
}

func rgb(red, green, blue int) string { return fmt.Sprintf("#%02x%02x%02x", red, green, blue) }

// apply changes the style by the codes of one SGR sequence, as in "1;38;5;214". What a
// picture can't show (blinking) changes nothing; what is unknown is an error.
func (s *style) apply(codes string) error {
	fields := strings.Split(codes, ";")
	for i := 0; i < len(fields); i++ {
		code, kind, _ := strings.Cut(fields[i], ":")
		n := 0
		if code != "" {
			var err error
			if n, err = strconv.Atoi(code); err != nil {
				return fmt.Errorf("SGR sequence %q: %w", codes, err)
			}
		}
		switch n {
		case 38, 48, 58:
			colour, used, err := extended(fields[i+1:])
			if err != nil {
				return fmt.Errorf("SGR sequence %q: %w", codes, err)
			}
			i += used
			switch n {
			case 38:
				s.foreground = colour
			case 48:
				s.background = colour
			}
		case 4:
			s.underline = kind != "0"
		default:
			if !s.plain(n) {
				return fmt.Errorf("SGR sequence %q: code %d is unknown", codes, n)
			}
		}
	}
	return nil
}

// extended reads what follows a 38 or 48: 5 and a number, or 2 and red, green, blue. It
// returns the colour and how many fields it takes.
func extended(fields []string) (colour string, used int, err error) {
	var n [4]int
	count := 2
	if len(fields) > 0 && fields[0] == "2" {
		count = 4
	}
	if len(fields) < count {
		return "", 0, fmt.Errorf("%d numbers of a colour, not %d", len(fields), count)
	}
	for i := range count {
		if n[i], err = strconv.Atoi(fields[i]); err != nil || n[i] < 0 || n[i] > 255 {
			return "", 0, fmt.Errorf("%q is no number from 0 to 255", fields[i])
		}
	}
	switch n[0] {
	case 2:
		return rgb(n[1], n[2], n[3]), count, nil
	case 5:
		return numbered(n[1]), count, nil
	default:
		return "", 0, fmt.Errorf("a colour of kind %d", n[0])
	}
}

// plain changes the style by a code that stands alone, and reports whether it knows it.
func (s *style) plain(n int) bool {
	switch {
	case n == 0:
		*s = style{}
	case n == 1:
		s.bold = true
	case n == 2:
		s.dim = true
	case n == 3:
		s.italic = true
	case n == 7:
		s.turnedOver = true
	case n == 9:
		s.struck = true
	case n == 21:
		s.underline = true
	case n == 22:
		s.bold, s.dim = false, false
	case n == 23:
		s.italic = false
	case n == 24:
		s.underline = false
	case n == 27:
		s.turnedOver = false
	case n == 29:
		s.struck = false
	case n >= 30 && n <= 37:
		s.foreground = named[n-30]
	case n == 39:
		s.foreground = ""
	case n >= 40 && n <= 47:
		s.background = named[n-40]
	case n == 49:
		s.background = ""
	case n >= 90 && n <= 97:
		s.foreground = named[n-90+8]
	case n >= 100 && n <= 107:
		s.background = named[n-100+8]
	default:
		return n == 5 || n == 6 || n == 25 || n == 59 // blinking; the underline's colour
	}
	return true
}

// colours returns what is painted behind a cell, "" for nothing, and in it.
func (s style) colours() (back, front string) {
	back, front = s.background, s.foreground
	if front == "" {
		front = ink
	}
	if s.turnedOver {
		if back == "" {
			back = ground
		}
		back, front = front, back
	}
	if s.dim {
		behind := back
		if behind == "" {
			behind = ground
		}
		front = mix(front, behind)
	}
	return back, front
}

// mix returns the colour three fifths of the way from b to a.
func mix(a, b string) string {
	var x, y [3]int
	for i := range 3 {
		// Both are #rrggbb by construction.
		p, _ := strconv.ParseUint(a[1+2*i:3+2*i], 16, 8)
		q, _ := strconv.ParseUint(b[1+2*i:3+2*i], 16, 8)
		x[i], y[i] = int(p), int(q)
	}
	part := func(i int) int { return (3*x[i] + 2*y[i]) / 5 }
	return rgb(part(0), part(1), part(2))
}
