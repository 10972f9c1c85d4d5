package report

import (
	"fmt"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"nqueens/pkg/humanize"
)

const (
	// slowAfter is how long something that is usually quick may take before the log mentions it.
	slowAfter = time.Second
	// slowInterval is the time between two further lines.
	slowInterval = time.Minute
)

// Slow logs what a process does, if that takes longer than a second, and once a minute for how long
// it has done so. The caller calls done at the end.
func Slow(log zerolog.Logger, what string) (done func()) {
	begun, ended := time.Now(), make(chan struct{})
	var group sync.WaitGroup
	group.Go(func() {
		wait := time.NewTimer(slowAfter)
		defer wait.Stop()
		for text := what; ; {
			select {
			case <-ended:
				return
			case <-wait.C:
			}
			log.Info().Str(humanize.LogField, text).Msg(what)
			wait.Reset(slowInterval)
			text = fmt.Sprintf("%s, for %s so far", what,
				humanize.Duration(time.Since(begun)+slowInterval))
		}
	})
	return func() {
		close(ended)
		group.Wait()
	}
}
