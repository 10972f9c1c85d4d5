package queens

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
)

// The JSON of ledgers and exports never changes. People can read it in ten years without this
// program.

// MarshalJSON returns the masks of the board's rows.
func (b Board) MarshalJSON() ([]byte, error) { return json.Marshal(b.Allow[:b.N]) }

// UnmarshalJSON decodes the masks of the board's rows. It checks only that there are at most [MaxN]
// rows.
func (b *Board) UnmarshalJSON(data []byte) error {
	var rows []uint32
	if err := json.Unmarshal(data, &rows); err != nil {
		return err
	}
	*b = Board{N: len(rows)}
	if copy(b.Allow[:], rows) < len(rows) {
		return ValidateN(len(rows))
	}
	return nil
}

// MarshalJSON returns the prefix as [row,cols,left,right].
func (p Prefix) MarshalJSON() ([]byte, error) {
	return json.Marshal([4]uint32{uint32(p.Row), p.Cols, p.Left, p.Right})
}

// UnmarshalJSON decodes [row,cols,left,right].
func (p *Prefix) UnmarshalJSON(data []byte) error {
	var numbers []uint32
	err := unmarshalTuple(data, &numbers, 4, "a prefix is [row,cols,left,right]")
	if err == nil {
		*p = Prefix{Row: int(numbers[0]), Cols: numbers[1], Left: numbers[2], Right: numbers[3]}
	}
	return err
}

// MarshalJSON returns the square as [row,column].
func (s Square) MarshalJSON() ([]byte, error) { return json.Marshal([2]int{s.Row, s.Column}) }

// UnmarshalJSON decodes [row,column].
func (s *Square) UnmarshalJSON(data []byte) error {
	var numbers []int
	err := unmarshalTuple(data, &numbers, 2, "a square is [row,column]")
	if err == nil {
		*s = Square{numbers[0], numbers[1]}
	}
	return err
}

// unmarshalTuple decodes an array of the given length. The parameter what describes the array; an
// error about its length begins with this text.
func unmarshalTuple[T any](data []byte, numbers *[]T, length int, what string) error {
	if err := json.Unmarshal(data, numbers); err != nil {
		return err
	}
	if len(*numbers) != length {
		return fmt.Errorf("%s, not %d numbers", what, len(*numbers))
	}
	return nil
}

// Bytes32 is a hash or a secret. Its text is hexadecimal.
type Bytes32 [sha256.Size]byte

// MarshalText returns 64 hexadecimal digits.
func (h Bytes32) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, h[:]), nil }

// UnmarshalText decodes 64 hexadecimal digits.
func (h *Bytes32) UnmarshalText(text []byte) error {
	b, err := hex.DecodeString(string(text))
	if err != nil || len(b) != len(h) {
		return fmt.Errorf("%d characters are not %d bytes in hexadecimal", len(text), len(h))
	}
	copy(h[:], b)
	return nil
}
