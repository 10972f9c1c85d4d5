package bus

import (
	"cmp"
	"fmt"
	"strings"

	"nqueens/pkg/queens"
)

// Protocol is the version of the messages that this program writes and reads.
const Protocol = 7

// announcementSubject is where all coordinators send their announcements.
const announcementSubject = "nq.run"

// workSubject returns where a process sends its work requests and deliveries for a run.
func workSubject(run string, from queens.Process) string {
	return "nq.work." + run + "." + from.Machine + "." + from.Name
}

// workSubjects returns where all processes send their messages for a run.
func workSubjects(run string) string {
	return workSubject(run, queens.Process{Machine: "*", Name: "*"})
}

// statusSubject returns where status requests for a run are sent.
func statusSubject(run string) string { return "nq.status." + run }

// processOf returns who sent a message on a subject of [workSubjects]. With an error, it is not a valid process.
func processOf(subject string) (queens.Process, error) {
	tokens := strings.Split(subject, ".")
	if len(tokens) != 5 {
		return queens.Process{}, fmt.Errorf("a message on the subject %.80q", subject)
	}
	p := queens.Process{Machine: tokens[3], Name: tokens[4]}
	return p, cmp.Or(queens.ValidateMachine(p.Machine), queens.ValidateMachine(p.Name))
}
