package yield

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// powerSupplies is the folder in which the kernel has a folder a power supply.
var powerSupplies = "/sys/class/power_supply"

// onBattery reports whether a battery of this machine discharges and no other supply is connected. A battery of a
// mouse or of another device does not count.
//
// Reference: Documentation/ABI/testing/sysfs-class-power of Linux.
func onBattery() (discharges bool, err error) {
	supplies, err := os.ReadDir(powerSupplies)
	if err != nil {
		return false, fmt.Errorf("the battery can't be read: %w", err)
	}
	for _, s := range supplies {
		read := func(attribute string) string {
			text, _ := os.ReadFile(filepath.Join(powerSupplies, s.Name(), attribute)) // empty if it has none
			return strings.TrimSpace(string(text))
		}
		switch kind := read("type"); {
		case read("scope") == "Device":
		case kind == "Battery":
			discharges = discharges || read("status") == "Discharging"
		case read("online") == "1":
			return false, nil
		}
	}
	return discharges, nil
}
