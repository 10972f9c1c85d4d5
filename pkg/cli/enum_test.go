package cli

import (
	"errors"
	"strings"
	"testing"
)

// Exactly the words are valid.
func TestEnum(t *testing.T) {
	var chosen string
	c := NewEnum(&chosen, "full", "full", "mirror", "none")
	if chosen != "full" || c.String() != "full" || c.Type() != "full|mirror|none" {
		t.Errorf("before it is given: %q, %q, %q", chosen, c.String(), c.Type())
	}
	for _, word := range []string{"mirror", "none", "full"} {
		if err := c.Set(word); err != nil || chosen != word || c.String() != word {
			t.Errorf("%s: chosen %q, %v", word, chosen, err)
		}
	}
	for _, c := range []struct{ word, says string }{
		{"rotate", `must be full, mirror or none, not "rotate"`},
		{"Mirror", `must be full, mirror or none, not "Mirror": did you mean mirror?`},
		{"", `must be full, mirror or none, not ""`},
		{"full\n", `must be full, mirror or none, not "full\n": did you mean full?`},
		{"full|none", `must be full, mirror or none, not "full|none"`},
	} {
		chosen := ""
		if err := NewEnum(&chosen, "none", "full", "mirror", "none").Set(c.word); err == nil || err.Error() != c.says || chosen != "none" {
			t.Errorf("%q: %v, chosen %q, want %s", c.word, err, chosen, c.says)
		}
	}
	err := NewEnum(&chosen, "a", "a", "b").WithScope("this machine").Set("c")
	if want := `must be a or b on this machine, not "c"`; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// Both ends of a range are valid.
func TestCheckRange(t *testing.T) {
	for value := -1; value <= 6; value++ {
		err := CheckRange("threads", value, 1, 4)
		if inside := value >= 1 && value <= 4; inside != (err == nil) {
			t.Errorf("%d: %v", value, err)
		} else if !inside && (!errors.As(err, new(usageError)) || !strings.HasPrefix(err.Error(), "--threads must be from 1 to 4, not ")) {
			t.Errorf("%d: %v", value, err)
		}
	}
}
