package bus

import (
	"cmp"
	"fmt"
	"strings"

	"nqueens/pkg/queens"
)

// Protocol is the version of the messages that this program writes and reads.
const Protocol = 7

// Subjects of messages. For work requests and deliveries, each process has a subject in each run; for status requests, each
// run has one.
const (
	announcementSubject = "nq.run"
	workPrefix          = "nq.work."
)

// workSubject returns where a process sends its messages for a run.
func workSubject(run string, from queens.Process) string {
	return workPrefix + run + "." + from.Machine + "." + from.Name
}

// workSubjects returns where all processes send their messages for a run.
func workSubjects(run string) string { return workPrefix + run + ".*.*" }

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
