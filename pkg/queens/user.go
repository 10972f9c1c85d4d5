package queens

import (
	"cmp"
	"fmt"
	"strings"
)

// The users of a NATS server that need no invitation. A token is for one user.
const (
	// CoordinatorUser is the user of coordinators. The worker in a coordinator's process counts
	// under this name too; no message on the wire has it.
	CoordinatorUser = "coordinator"
	// WorkerUser is the user of all machines of one owner: anyone with its token may name any
	// machine.
	WorkerUser = "worker"
	// WatcherUser is the user of programs that only ask for snapshots.
	WatcherUser = "watcher"
)

// MaxUserBytes is the greatest length of the name of a user, in bytes.
const MaxUserBytes = 63

// ValidateUser returns an error unless name can be the name of a user: 1 to 63 lower-case letters,
// digits and dashes, and no dash at the start. NATS subjects contain it as a token.
func ValidateUser(name string) error {
	if name == "" || len(name) > MaxUserBytes || name[0] == '-' ||
		strings.Trim(name, runLetters) != "" {
		return fmt.Errorf("user name %.80q is not 1 to %d lower-case letters, digits and dashes, with "+
			"no dash first",
			name, MaxUserBytes)
	}
	return nil
}

// IsInvited reports whether a user is that of another owner: see coordinator invite. The server
// proves its name.
func IsInvited(user string) bool {
	return user != CoordinatorUser && user != WorkerUser && user != WatcherUser
}

// Machine is a machine of a user. The server proves the user; the machine is only a name that the
// user gives.
type Machine struct {
	User string `json:"user"`    // of NATS; "coordinator" for the worker in the coordinator's process
	Name string `json:"machine"` // that the user gives
}

// String returns the name of the machine, after the name of its user unless that is [WorkerUser].
func (m Machine) String() string {
	if m.User == WorkerUser {
		return m.Name
	}
	return m.User + "/" + m.Name
}

// Compare orders machines by user and then by name.
func (m Machine) Compare(other Machine) int {
	return cmp.Or(cmp.Compare(m.User, other.User), cmp.Compare(m.Name, other.Name))
}

// Witness is what can be wrong as one. It has the name of an invited user, whatever machines that
// user names, or else the name of a machine. The zero Witness is nobody.
type Witness struct{ User, Machine string }

// String returns the kind and the name of a witness.
func (w Witness) String() string {
	if w.User != "" {
		return "user " + w.User
	}
	return "machine " + w.Machine
}

// Witness returns the witness to which the counts of a machine belong. A worker that says that it
// is on the coordinator's machine is one witness with the coordinator's own worker.
func (m Machine) Witness() Witness {
	if IsInvited(m.User) {
		return Witness{User: m.User}
	}
	return Witness{Machine: m.Name}
}

// Process is a worker process: its machine, and a random name made at its start, which
// [ValidateMachine] accepts.
type Process struct {
	Machine Machine
	Name    string
}

// Validate returns an error unless user and machine have valid names.
func (m Machine) Validate() error {
	if err := ValidateUser(m.User); err != nil {
		return err
	}
	return ValidateMachine(m.Name)
}
