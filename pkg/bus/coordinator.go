package bus

import (
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"

	"nqueens/pkg/queens"
)

// Message is an encoded message of a worker. [DecodeFromWorker] decodes its Data.
type Message struct {
	From queens.Process
	Data []byte
	// Reply sends an encoded reply. It fails if there is no connection, or the reply exceeds the
	// server's max_payload.
	Reply func(data []byte) error
}

// ServeWork calls handle, one call at a time, with the messages of all workers for a run, until
// stop is called. The last call may still run when stop returns. Messages may come twice and in any
// order. It drops a message whose reply would not go to an inbox of its user. At most 65,536
// messages, of 16 MiB together, wait; more are dropped, and their senders send them again.
func (b *Bus) ServeWork(run string, handle func(Message)) (stop func(), err error) {
	everybody := queens.Process{Machine: queens.Machine{User: "*", Name: "*"}, Name: "*"}
	return b.subscribe(workSubject(run, everybody), func(m *nats.Msg) {
		from, err := senderOf(m.Subject)
		if err == nil {
			err = checkReply(from.Machine.User, m.Reply)
		}
		if err != nil {
			b.warnOnce(m.Subject, err, "a message of a worker is dropped; more of its kind are not logged")
			return
		}
		handle(Message{From: from, Data: m.Data, Reply: func(data []byte) error {
			return b.publish(m.Reply, data)
		}})
	})
}

// ServeStatus answers requests for the snapshot of a run, until stop is called. It ignores what a
// request contains, so that a person can ask with the tools of NATS. It drops a request whose reply
// would not go to an inbox of its user.
func (b *Bus) ServeStatus(run string, snapshot func() *queens.Snapshot) (stop func(), err error) {
	return b.subscribe(statusSubject(run, "*"), func(m *nats.Msg) {
		user, err := askerOf(m.Subject)
		if err == nil {
			err = checkReply(user, m.Reply)
		}
		if err != nil {
			b.warnOnce(m.Subject, err, "a status request is dropped; more of its kind are not logged")
			return
		}
		data, err := encodeSnapshot(snapshot())
		if err == nil {
			err = b.publish(m.Reply, data)
		}
		if err != nil {
			b.warnOnce("respond", err, "can't send a snapshot; more such errors are not logged")
		}
	})
}

// Announce sends an announcement to all processes that listen. It fails if there is no connection.
func (b *Bus) Announce(a *queens.Announcement) error {
	data, err := EncodeAnnouncement(a)
	if err == nil {
		err = b.publish(announcementSubject, data)
	}
	return err
}

// publish sends a message. It does not wait for a login under way.
func (b *Bus) publish(subject string, data []byte) error {
	if !b.Connected() {
		return errNoConnection
	}
	return b.conn.Publish(subject, data)
}

// Announcements calls hear with the announcements of all coordinators, one call at a time, until
// stop is called. A message that has another version or can't be read is logged once.
func (b *Bus) Announcements(hear func(queens.Announcement)) (stop func(), err error) {
	return b.subscribe(announcementSubject, func(m *nats.Msg) {
		a, err := DecodeAnnouncement(m.Data)
		if err != nil {
			b.warnOnce("announcement "+err.Error(), err,
				"a coordinator can't be understood, its run is left alone")
			b.introduce(m.Data, err)
			return
		}
		hear(a)
	})
}

// introduce sends a message of this version to a coordinator of another version, once for each run,
// so that the coordinator's log also says that the versions differ. The coordinator does not answer
// it.
func (b *Bus) introduce(announcement []byte, err error) {
	var other *VersionError
	if b.options.Process.Name == "" || !errors.As(err, &other) {
		return
	}
	run := runOfOtherVersion(announcement)
	if queens.ValidateRun(run) != nil || !b.isFirst("introduced to "+run) {
		return
	}
	subject := workSubject(run, b.options.Process)
	data, err := EncodeRequest(&queens.WorkRequest{Number: 1, Leaving: true})
	if err == nil {
		// nobody may listen there: no answer is wanted
		err = b.conn.PublishRequest(subject, subject, data)
	}
	if err != nil {
		b.options.Log.Debug().Err(err).Msg("a coordinator of another version could not be told so")
	}
}

// These bound the messages of a subscription that wait to be handled.
const (
	mostPending      = 1 << 16
	mostPendingBytes = 16 << 20
)

func (b *Bus) subscribe(subject string, handle func(*nats.Msg)) (stop func(), err error) {
	s, err := b.conn.Subscribe(subject, handle)
	if err == nil {
		err = s.SetPendingLimits(mostPending, mostPendingBytes)
	}
	if err != nil {
		return nil, fmt.Errorf("subscribe to %s: %w", subject, err)
	}
	// if this fails, the server hears of the subscription at the next connection
	b.flush(queens.LongestReply)
	return func() {
		if b.Connected() {
			_ = s.Unsubscribe()
			return
		}
		go func() { _ = s.Unsubscribe() }() // waits for a login under way
	}, nil
}
