package bus

import (
	"cmp"
	"fmt"
	"strings"

	"nqueens/pkg/queens"
)

// Protocol is the version of the messages that this program writes and reads.
const Protocol = 8

// announcementSubject is the subject of the announcements of all coordinators.
const announcementSubject = "nq.run"

// workSubject returns the subject on which a process sends its work requests and deliveries for a run.
func workSubject(run string, from queens.Process) string {
	return "nq.work." + run + "." + from.Machine + "." + from.Name
}

// workSubjects returns the pattern of these subjects for all processes.
func workSubjects(run string) string {
	return workSubject(run, queens.Process{Machine: "*", Name: "*"})
}

// statusSubject returns the subject of status requests for a run.
func statusSubject(run string) string { return "nq.status." + run }

// processOf returns the process that sent a message on a subject of [workSubjects], or an error if the subject names no valid
// process.
func processOf(subject string) (queens.Process, error) {
	tokens := strings.Split(subject, ".")
	if len(tokens) != 5 {
		return queens.Process{}, fmt.Errorf("a message on the subject %.80q", subject)
	}
	p := queens.Process{Machine: tokens[3], Name: tokens[4]}
	return p, cmp.Or(queens.ValidateMachine(p.Machine), queens.ValidateMachine(p.Name))
}
