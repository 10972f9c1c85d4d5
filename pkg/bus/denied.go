package bus

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"nqueens/pkg/queens"
)

// A request that the server does not permit gets no answer. The server says so in a message of its
// own, which comes within milliseconds and names the subject. What this program needs for its part it
// needs all the time, so the first such message ends all requests of the connection, with the reason,
// and [Bus.WaitClosed].

// deniedError says what the server did not permit.
type deniedError struct{ action, subject, user, role string }

func (e *deniedError) Error() string {
	role := ""
	if e.role != "" {
		role = "its role is " + e.role + ", and "
	}
	return fmt.Sprintf("%s may not %s %.200q: %sthis needs the role %s: name a key with --nkey",
		e.user, e.action, e.subject, role, neededRole(e.subject))
}

// Unwrap returns [queens.ErrNoConnection]: the server refuses the credentials.
func (e *deniedError) Unwrap() error { return queens.ErrNoConnection }

var violation = regexp.MustCompile(`(?i)permissions violation for (publish|subscription) to "([^"]*)"`)

// denied returns what an asynchronous error of the connection denies, or nil.
func (c *Config) denied(err error) error {
	if !errors.Is(err, nats.ErrPermissionViolation) {
		return nil
	}
	e := &deniedError{action: "publish to", user: "this user"}
	if found := violation.FindStringSubmatch(err.Error()); found != nil {
		e.subject = found[2]
		if strings.EqualFold(found[1], "subscription") {
			e.action = "receive"
		}
	}
	c.setUser(e)
	return e
}

// setUser says whom the server denies something.
func (c *Config) setUser(e *deniedError) {
	switch {
	case c.Identity != nil:
		e.user, e.role = "the user with the key "+c.Identity.Key(), c.Identity.Role
	case c.Token != "":
		e.user, e.role = "a user with a token", string(Worker)
	}
}

// noStreams explains that the account of the user has no streams, such as that of watchers.
func (b *Bus) noStreams(err error) error {
	var api *jetstream.APIError
	if !errors.As(err, &api) || api.ErrorCode != jetstream.JSErrCodeJetStreamNotEnabledForAccount {
		return err
	}
	e := &deniedError{action: "change", subject: bucketSubject + ">", user: "this user"}
	b.setUser(e)
	b.refuse(e)
	return e
}

// neededRole returns the least role that may use a subject.
func neededRole(subject string) Role {
	for _, of := range []struct {
		role  Role
		lists [][]string
	}{
		{Worker, [][]string{workerServices, workerReceives}},
		{Watcher, [][]string{watcherServices, watcherReceives}},
	} {
		for _, list := range of.lists {
			for _, pattern := range list {
				if prefix := strings.TrimRight(pattern, "*>"); strings.HasPrefix(subject, prefix) {
					return of.role
				}
			}
		}
	}
	return Coordinator
}

// refuse ends all requests, and [Bus.WaitClosed], with an error. Only the first counts.
func (b *Bus) refuse(err error) { b.forbid(err) }

// endWithPermission calls cancel when the server refuses something for good. The caller calls release
// when that is of no interest any more.
func (b *Bus) endWithPermission(cancel context.CancelFunc) (release func() bool) {
	if b.permitted == nil {
		return func() bool { return true }
	}
	return context.AfterFunc(b.permitted, cancel)
}

// refusal returns why a request was ended that failed with err, if the server has refused something.
func (b *Bus) refusal(err error) error {
	if b.permitted == nil || !errors.Is(err, context.Canceled) {
		return nil
	}
	return context.Cause(b.permitted)
}

// recordRequest returns the context of an exchange about records, whose requests have the same timeout
// each. The caller calls done once, with the error of the exchange.
func (b *Bus) recordRequest(parent context.Context) (ctx context.Context, done func(error) error) {
	ctx, cancel := context.WithCancel(requestContext{parent})
	release := b.endWithPermission(cancel)
	return ctx, func(err error) error {
		release()
		cancel()
		if refused := b.refusal(err); refused != nil && parent.Err() == nil {
			return refused
		}
		return err
	}
}
