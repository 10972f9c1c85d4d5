package bus

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"nqueens/pkg/run"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// A request that the server does not permit gets no answer. The server says so in a message of its
// own, which comes within milliseconds and names the subject. What this program needs for its part it
// needs all the time, so the first such message ends all requests of the connection, with the reason,
// and [Bus.WaitClosed].

var violation = regexp.MustCompile(`(?i)permissions violation for (publish|subscription) to "([^"]*)"`)

// denied returns what an asynchronous error of the connection denies, or nil.
func (c *Config) denied(err error) error {
	if !errors.Is(err, nats.ErrPermissionViolation) {
		return nil
	}
	action, subject := "publish to", ""
	if found := violation.FindStringSubmatch(err.Error()); found != nil {
		subject = found[2]
		if strings.EqualFold(found[1], "subscription") {
			action = "receive"
		}
	}
	return c.deniedError(action, subject)
}

// deniedError returns an error that says what the server does not permit, whom, and who may do it. It wraps
// [run.ErrNoConnection]: the server refuses the credentials.
func (c *Config) deniedError(action, subject string) error {
	user, role := "this user", ""
	switch {
	case c.Identity != nil:
		user, role = "the user with the key "+c.Identity.Key(), c.Identity.Role
	case c.Token != "":
		user, role = "a user with a token", string(Worker)
	}
	if role != "" {
		role = "its role is " + role + ", and "
	}
	return fmt.Errorf("%w: %s may not %s %.200q: %sthis needs the role %s: name a key with --nkey",
		run.ErrNoConnection, user, action, subject, role, neededRole(subject))
}

// noStreams explains that the account of the user has no streams, such as that of watchers.
func (b *Bus) noStreams(err error) error {
	if hasCode(err, jetstream.JSErrCodeJetStreamNotEnabledForAccount) {
		err = b.cfg.deniedError("change", bucketSubject+">")
		b.refuse(err)
	}
	return err
}

// neededRole returns the least role that may use a subject.
func neededRole(subject string) Role {
	isOf := func(pattern string) bool { return strings.HasPrefix(subject, strings.TrimRight(pattern, "*>")) }
	switch {
	case slices.ContainsFunc(slices.Concat(workerServices, workerReceives), isOf):
		return Worker
	case slices.ContainsFunc(slices.Concat(watcherServices, watcherReceives), isOf):
		return Watcher
	}
	return Coordinator
}
