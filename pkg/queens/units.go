package queens

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"time"
)

// Seconds is a duration. In JSON it is a number of seconds.
type Seconds struct{ time.Duration }

// MarshalJSON returns the seconds.
func (s Seconds) MarshalJSON() ([]byte, error) { return json.Marshal(s.Duration.Seconds()) }

// UnmarshalJSON decodes seconds. Negative seconds, or too many for a duration, are an error.
func (s *Seconds) UnmarshalJSON(data []byte) error {
	var seconds float64
	if err := json.Unmarshal(data, &seconds); err != nil {
		return err
	}
	nanoseconds := math.Round(seconds * float64(time.Second))
	if !(nanoseconds >= 0 && nanoseconds < math.MaxInt64) {
		return fmt.Errorf("a time of %v seconds", seconds)
	}
	s.Duration = time.Duration(nanoseconds)
	return nil
}

// Fraction is a part of a whole, 0 to 1. In JSON it is a percentage.
type Fraction float64

// MarshalJSON returns the percentage, rounded to nine decimals: 0.29 gives 29. A fraction below 1
// gives less than 100.
func (f Fraction) MarshalJSON() ([]byte, error) {
	percent := math.Round(100e9*float64(f)) / 1e9
	if f < 1 {
		percent = min(percent, math.Nextafter(100, 0))
	}
	return json.Marshal(percent)
}

// UnmarshalJSON decodes a percentage.
func (f *Fraction) UnmarshalJSON(data []byte) error {
	var percent float64
	err := json.Unmarshal(data, &percent)
	*f = Fraction(percent / 100)
	return err
}

// Decimal is an exact whole number. In JSON it is a string, because many programs read numbers as
// floats, which are exact only up to 2^53. A nil Decimal is null in JSON.
type Decimal big.Int

// maxDigits and maxBits are the greatest length of a number of solutions, in decimal digits and in
// bits. The total of a board of side [MaxN] needs about 76 bits.
const (
	maxDigits = 78
	maxBits   = 256
)

// MarshalText returns the decimal digits.
func (d *Decimal) MarshalText() ([]byte, error) { return (*big.Int)(d).MarshalText() }

// UnmarshalText decodes a number of solutions in the form that MarshalText writes: at least 0, at
// most 256 bits.
func (d *Decimal) UnmarshalText(text []byte) error {
	if len(text) <= maxDigits {
		x, ok := new(big.Int).SetString(string(text), 10)
		if ok && x.String() == string(text) && x.Sign() >= 0 && x.BitLen() <= maxBits {
			*d = Decimal(*x)
			return nil
		}
	}
	return fmt.Errorf("%.80q is no number of solutions", text)
}

// String returns the decimal digits.
func (d *Decimal) String() string { return (*big.Int)(d).String() }
