//go:build !linux

package yield

import "errors"

func onBattery() (bool, error) {
	return false, errors.New("the battery can't be read: this program can do that on Linux only")
}
