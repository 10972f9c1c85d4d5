package bus

import (
	"cmp"
	"fmt"
	"strings"

	"nqueens/pkg/queens"
)

// Protocol is the version of the messages that this program writes and reads.
const Protocol = 13

// announcementSubject is the subject of the announcements of all coordinators.
const announcementSubject = "nq.run"

// workSubject returns the subject on which a process sends its work requests and deliveries for a
// run.
func workSubject(run string, from queens.Process) string {
	return "nq.work." + run + "." + from.Machine.User + "." + from.Machine.Name + "." + from.Name
}

// statusSubject returns the subject of status requests of a user for a run.
func statusSubject(run, user string) string { return "nq.status." + run + "." + user }

// inbox returns how the subjects begin on which a user gets its replies.
func inbox(user string) string { return "_INBOX." + user }

// senderOf returns the process that sent a message on the subject of a work request or delivery. It
// returns an error unless all names are valid. No worker on the wire is of the user
// [queens.CoordinatorUser].
func senderOf(subject string) (from queens.Process, err error) {
	tokens := strings.Split(subject, ".")
	if len(tokens) != 6 {
		return from, fmt.Errorf("a message on the subject %.80q", subject)
	}
	from = queens.Process{Machine: queens.Machine{User: tokens[3], Name: tokens[4]}, Name: tokens[5]}
	if from.Machine.User == queens.CoordinatorUser {
		return from, fmt.Errorf("a message of a worker from the user %s", from.Machine.User)
	}
	return from, cmp.Or(from.Machine.Validate(), queens.ValidateMachine(from.Name))
}

// askerOf returns the user that sent a status request on a subject, or an error if the subject
// names no valid user.
func askerOf(subject string) (user string, err error) {
	tokens := strings.Split(subject, ".")
	if len(tokens) != 4 {
		return "", fmt.Errorf("a status request on the subject %.80q", subject)
	}
	return tokens[3], queens.ValidateUser(tokens[3])
}

// checkReply returns an error unless a reply goes to an inbox of the user that sent the request.
// The server lets a coordinator publish to the inboxes of all users and to subjects of its own, so
// the coordinator must check.
func checkReply(user, reply string) error {
	rest, isInbox := strings.CutPrefix(reply, inbox(user)+".")
	if !isInbox || rest == "" || strings.ContainsAny(rest, "*>") {
		return fmt.Errorf("user %s asks for a reply on %.80q, which is no inbox of that user", user,
			reply)
	}
	return nil
}
