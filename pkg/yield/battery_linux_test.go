package yield

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A machine is on battery if its own battery discharges and nothing else supplies it.
func TestOnBattery(t *testing.T) {
	defer func(folder string) { powerSupplies = folder }(powerSupplies)
	for name, test := range map[string]struct {
		supplies []string // their attributes
		want     bool
	}{
		"no battery":             {nil, false},
		"discharging":            {[]string{"type=Mains online=0", "type=Battery status=Discharging"}, true},
		"charging":               {[]string{"type=Mains online=1", "type=Battery status=Charging"}, false},
		"full":                   {[]string{"type=Battery status=Full"}, false},
		"a mouse":                {[]string{"type=Battery scope=Device status=Discharging"}, false},
		"a mouse and a laptop":   {[]string{"type=Battery scope=Device status=Full", "type=Battery scope=System status=Discharging"}, true},
		"loaded above its mains": {[]string{"type=Battery status=Discharging", "type=USB online=1"}, false},
		"one of two":             {[]string{"type=Battery status=Discharging", "type=Battery status=Full"}, true},
	} {
		powerSupplies = t.TempDir()
		for i, attributes := range test.supplies {
			folder := filepath.Join(powerSupplies, string(rune('a'+i)))
			if err := os.Mkdir(folder, 0o700); err != nil {
				t.Fatal(err)
			}
			for _, attribute := range strings.Fields(attributes) {
				file, value, _ := strings.Cut(attribute, "=")
				if err := os.WriteFile(filepath.Join(folder, file), []byte(value+"\n"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
		if got, err := onBattery(); err != nil || got != test.want {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	powerSupplies = filepath.Join(t.TempDir(), "none")
	p := Policy{Battery: true}
	if _, err := p.OnThisMachine(); err == nil {
		t.Error("a machine that can't be read is accepted")
	}
}
