package testkit

import (
	"strings"

	"nqueens/pkg/queens"
)

// Machine returns the machine that [queens.Machine.String] writes as text: laptop, or alice/laptop.
func Machine(text string) queens.Machine {
	user, name, named := strings.Cut(text, "/")
	if !named {
		user, name = queens.WorkerUser, text
	}
	return queens.Machine{User: user, Name: name}
}
