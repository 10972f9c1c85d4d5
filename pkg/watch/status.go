package watch

import (
	"fmt"
	"strings"
	"time"

	"nqueens/pkg/humanize"
)

// Text says for people why what is shown of a run may be old, or at an end; it is empty for a run that
// is live.
func (s *Status) Text(run string) string {
	switch s.Kind {
	case ServerDown:
		return ServerDownText(s.Since)
	case ServerSilent:
		return "the server does not answer: " + strings.ReplaceAll(s.Err.Error(), "\n", "; ")
	case AwaitingCoordinator:
		return fmt.Sprintf("waiting for a message of its coordinator (%q)", s.Record.Owner)
	case CoordinatorSilent:
		return fmt.Sprintf("its coordinator has been silent for %v: if it has died, coordinator resume %s resumes the run",
			humanize.Duration(time.Since(s.Record.Updated).Truncate(time.Second)), run)
	case Stopped:
		done := ""
		if s.Record != nil {
			done = fmt.Sprintf(" with %d of %d tasks done", s.Record.Done, s.Record.Manifest.Tasks)
		}
		return fmt.Sprintf("stopped%s: coordinator resume %s resumes the run", done, run)
	case Live:
	}
	return ""
}

// ServerDownText says for people that the server has been disconnected since that time.
func ServerDownText(since time.Time) string {
	return fmt.Sprintf("server disconnected since %s, reconnecting", since.Format("15:04:05 MST"))
}
