package join

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"nqueens/pkg/queens"
)

// Subjects are the subjects on which a user may publish, and to which it may subscribe.
type Subjects struct{ Publish, Subscribe []string }

// Permissions returns what a user may do on a server. A user's workers may speak in its name only,
// and hear only the replies to this user.
func Permissions(user string) Subjects {
	asks, hears := "nq.status.*."+user, "_INBOX."+user+".>"
	switch user {
	case queens.CoordinatorUser:
		return Subjects{
			Publish:   []string{"nq.run", asks, "_INBOX.>"},
			Subscribe: []string{"nq.run", "nq.work.*.*.*.*", "nq.status.*.*", hears},
		}
	case queens.WatcherUser:
		return Subjects{Publish: []string{asks}, Subscribe: []string{"nq.run", hears}}
	}
	return Subjects{Publish: []string{"nq.work.*." + user + ".*.*", asks},
		Subscribe: []string{"nq.run", hears}}
}

// Passwords has the passwords of the users of a server.
type Passwords map[string]string

// Authorization returns the part of a server's configuration that accepts these users with their
// passwords, and gives each user its permissions.
func (p Passwords) Authorization() string {
	var lines strings.Builder
	for _, user := range slices.Sorted(maps.Keys(p)) {
		may := Permissions(user)
		fmt.Fprintf(&lines, "  { user: %q, password: %q, permissions: { publish: [%s], subscribe: [%s] "+
			"} }\n",
			user, p[user], quoted(may.Publish), quoted(may.Subscribe))
	}
	return "authorization { users: [\n" + lines.String() + "] }\n"
}

func quoted(subjects []string) string { return `"` + strings.Join(subjects, `", "`) + `"` }
