package watch

import (
	"fmt"
	"strings"
	"time"

	"nqueens/pkg/humanize"
	"nqueens/pkg/run"
)

// Text says for people why what is shown of a run may be old, or at an end; it is empty for a run that
// is live.
func (s *Status) Text(name string) string {
	switch s.Kind {
	case ServerDown:
		return ServerDownText(s.Since)
	case ServerSilent:
		return "the server does not answer: " + strings.ReplaceAll(s.Err.Error(), "\n", "; ")
	case AwaitingCoordinator:
		return fmt.Sprintf("waiting for a message of its coordinator (%q)", s.Record.Owner)
	case CoordinatorSilent:
		return fmt.Sprintf("its coordinator has been silent for %v: if it has died, coordinator resume %s resumes the run",
			humanize.Duration(time.Since(s.Record.Updated).Truncate(time.Second)), name)
	case Stopped:
		done := ""
		if s.Record != nil {
			done = fmt.Sprintf(" with %d of %d tasks done", s.Record.Done, s.Record.Manifest.Tasks)
		}
		word := "stopped"
		if s.Record != nil && s.Record.State == run.Running { // its process was killed
			word = "interrupted"
		}
		return fmt.Sprintf("%s%s: coordinator resume %s resumes the run", word, done, name)
	case ProcessSilent:
		return "the process of the run does not say how far it is: " + strings.ReplaceAll(s.Err.Error(), "\n", "; ")
	case Auditing:
		return "the run is complete: verifying its ledger"
	case Live:
	}
	return ""
}

// ServerDownText says for people that the server has been disconnected since that time.
func ServerDownText(since time.Time) string {
	return fmt.Sprintf("server disconnected since %s, reconnecting", since.Format("15:04:05 MST"))
}
