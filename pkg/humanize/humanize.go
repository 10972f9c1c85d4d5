// Package humanize formats numbers, shares, sizes, durations and ranges for people. Its texts are
// short rather than exact. They are not meant to be parsed: programs read the JSON of package
// report, which has plain numbers.
package humanize

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"

	"nqueens/pkg/queens"
)

// LogField is the name of a log field. People read the text of this field in place of the message
// and the other fields. With --log-level debug they also see the other fields.
const LogField = "text"

// Big formats an exact number with thousands separators: 4,968,057,848. It formats nil as
// a dash.
func Big(number *big.Int) string {
	if number == nil {
		return "-"
	}
	return thousands(number.String())
}

// Int formats an exact number with thousands separators: 12,345.
func Int[T int | uint64](number T) string { return thousands(fmt.Sprint(number)) }

// thousands inserts commas into the digits of a whole number, which may have a sign.
func thousands(digits string) string {
	sign := ""
	if strings.HasPrefix(digits, "-") {
		sign, digits = "-", digits[1:]
	}
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return sign + digits
}

// Plural formats a number with a regular noun: 1 worker, 2 workers.
func Plural[T int | uint64](number T, noun string) string {
	if number != 1 {
		noun += "s"
	}
	return Int(number) + " " + noun
}

// Approx formats a number that is at least 0. It rounds numbers up to 999999 to a whole number, and
// larger ones to three digits, such as 3.93e10.
func Approx(x float64) string {
	if x < 999999.5 {
		return fmt.Sprintf("%.0f", x)
	}
	mantissa, exponent, _ := strings.Cut(fmt.Sprintf("%.2e", x), "e+")
	return mantissa + "e" + strings.TrimLeft(exponent, "0")
}

// Rate formats a number per second with three digits: 206 M/s.
func Rate(perSecond float64) string {
	switch {
	case !(perSecond > 0): // includes NaN
		return "0 /s"
	case perSecond >= 999.5e18:
		return "> 1000 E/s"
	}
	number, prefix := scale(perSecond, "", "k", "M", "G", "T", "P", "E")
	return threeDigits(number, 2) + " " + prefix + "/s"
}

// scale divides x by 1000 until it has at most three digits before the point. It moves to the next
// unit with each division, and stops at the last unit.
func scale(x float64, units ...string) (scaled float64, unit string) {
	for ; x >= 999.5 && len(units) > 1; units = units[1:] {
		x /= 1000
	}
	return x, units[0]
}

// threeDigits formats a number below 1000 with up to three digits, at most maxDecimals of them
// after the point: 2.06, 20.6, 206.
func threeDigits(x float64, maxDecimals int) string {
	decimals := 0
	switch {
	case x < 9.995:
		decimals = min(2, maxDecimals)
	case x < 99.95:
		decimals = 1
	}
	return strconv.FormatFloat(x, 'f', decimals, 64)
}

// Bytes formats a size: 128 KiB, 676 MiB.
func Bytes(size uint64) string {
	const kib, mib = 1 << 10, 1 << 20
	if size < mib {
		return fmt.Sprintf("%d KiB", size/kib)
	}
	return threeDigits(float64(size)/mib, 1) + " MiB"
}

// Percentage converts a share to percent, rounded down to a tenth. No share below 1 gives 100.
func Percentage(share float64) float64 { return math.Floor(share*1000) / 10 }

// Percent formats a share with one decimal, rounded down. It returns 100.0% if and only if done is
// true.
func Percent(share float64, done bool) string {
	percentage := 0.0
	switch {
	case done:
		percentage = 100
	case share > 0: // excludes NaN
		percentage = min(Percentage(share), 99.9)
	}
	return fmt.Sprintf("%.1f%%", percentage)
}

// Range formats an interval: 17s to 21s. If both ends look the same, it formats only one of them.
func Range[T any](low, high T, format func(T) string) string {
	first, last := format(low), format(high)
	if first == last {
		return first
	}
	return first + " to " + last
}

// Squares lists squares as row,column: 0,3 2,0.
func Squares(squares []queens.Square) string {
	words := make([]string, len(squares))
	for i, s := range squares {
		words[i] = s.String()
	}
	return strings.Join(words, " ")
}
