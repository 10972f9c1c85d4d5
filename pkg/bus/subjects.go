package bus

import (
	"fmt"
	"strings"

	"nqueens/pkg/queens"
)

// Protocol is the version of the messages that this program writes and reads.
const Protocol = 7

// Subjects of messages. A work request or a delivery has that of its process, a status request that of its run.
const (
	announcementSubject = "nq.run"
	workPrefix          = "nq.work."
	statusPrefix        = "nq.status."
)

// workSubject returns where a process sends its messages for a run.
func workSubject(run string, from queens.Process) string {
	return workPrefix + run + "." + from.Machine + "." + from.Name
}

// workSubjects returns where all processes send their messages for a run.
func workSubjects(run string) string { return workPrefix + run + ".*.*" }

func statusSubject(run string) string { return statusPrefix + run }

// processOf returns who sent a message on a subject of [workSubjects].
func processOf(subject string) (queens.Process, error) {
	tokens := strings.Split(subject, ".")
	if len(tokens) != 5 {
		return queens.Process{}, fmt.Errorf("a message on the subject %.80q", subject)
	}
	p := queens.Process{Machine: tokens[3], Name: tokens[4]}
	if err := queens.ValidateMachine(p.Machine); err != nil {
		return queens.Process{}, err
	}
	return p, queens.ValidateMachine(p.Name)
}
