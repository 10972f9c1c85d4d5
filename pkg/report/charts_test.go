package report

import (
	"math"
	"math/big"
	"regexp"
	"testing"
	"time"

	"nqueens/pkg/humanize"
	"nqueens/pkg/run"
)

// Whatever the rates are, the chart stays on the page.
func TestCharts(t *testing.T) {
	d := document()
	for i, rate := range []float64{0, 1e-9, math.MaxFloat64, 5, 0, 1e12, 7, 8, 9, 10} {
		d.History[i].Solutions = rate // in a second
	}
	page(t, d)
	d.History[2].Solutions = 3
	page(t, d)
	c := newThroughputChart(d.History)
	for _, b := range c.Bars {
		if x, w, y, h := number(b.X), number(b.Width), number(b.Y), number(b.Height); x < 0 || w <= 0 || x+w > 100.01 || y < 0 || h < 0 || math.Abs(y+h-plotBottom) > 0.2 {
			t.Errorf("a bar %+v", b)
		}
	}
	if len(c.Bars) != len(d.History) || len(c.Ticks) == 0 || len(c.Ticks) > 10 {
		t.Errorf("%d bars, %d ticks", len(c.Bars), len(c.Ticks))
	}
}

// The ticks of the throughput are at the times that they name, and are few, however long a run is.
func TestTicksOfTheThroughput(t *testing.T) {
	for _, length := range []time.Duration{4 * time.Second, 10 * time.Second, 59 * time.Second, time.Hour, 50 * time.Hour, 9000 * time.Hour, 200_000 * time.Hour} {
		var history []run.Sample
		for from := time.Duration(0); from < length; from += length / 8 {
			history = append(history, run.Sample{From: from, To: from + length/8, Solutions: 5 * (length / 8).Seconds()})
		}
		c := newThroughputChart(history)
		if len(c.Ticks) < 3 || len(c.Ticks) > 7 {
			t.Errorf("%v: the ticks are %v", length, c.Ticks)
		}
		step := timeStep(length)
		for i, tick := range c.Ticks {
			at := step * time.Duration(i)
			if tick.Label != humanize.Clock(at) || math.Abs(number(tick.At)-100*float64(at)/float64(length)) > 0.01 {
				t.Errorf("%v: tick %d is %+v", length, i, tick)
			}
		}
	}
}

// The colors of the page have enough contrast, on screens and on paper (WCAG 2.2, 1.4.3: 4.5 to 1).
func TestContrast(t *testing.T) {
	color := regexp.MustCompile(`--(\w+): #([0-9a-f]{3,6})\b`)
	blocks := regexp.MustCompile(`:root \{[^}]*\}`).FindAllString(documentCSS, -1)
	if len(blocks) != 3 {
		t.Fatalf("there are %d sets of colors", len(blocks))
	}
	for _, block := range blocks {
		colors := make(map[string]float64)
		for _, m := range color.FindAllStringSubmatch(block, -1) {
			colors[m[1]] = luminance(m[2])
		}
		for _, ink := range []string{"ink", "soft", "mark", "good", "warn", "bad"} {
			for _, paper := range []string{"page", "panel"} {
				high, low := max(colors[ink], colors[paper]), min(colors[ink], colors[paper])
				if ratio := (high + 0.05) / (low + 0.05); ratio < 4.5 {
					t.Errorf("%s on %s: %s to 1", ink, paper, humanize.Approx(ratio))
				}
			}
		}
	}
}

// luminance is the relative luminance of a color in hexadecimal, of three or six digits.
func luminance(hex string) float64 {
	if len(hex) == 3 {
		hex = hex[:1] + hex[:1] + hex[1:2] + hex[1:2] + hex[2:] + hex[2:]
	}
	n, _ := new(big.Int).SetString(hex, 16)
	rgb := n.Uint64()
	channel := func(shift int) float64 {
		c := float64(rgb>>shift&0xff) / 255
		if c <= 0.04045 {
			return c / 12.92
		}
		return math.Pow((c+0.055)/1.055, 2.4)
	}
	return 0.2126*channel(16) + 0.7152*channel(8) + 0.0722*channel(0)
}
