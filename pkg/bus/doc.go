// Package bus connects coordinators and workers by core NATS: by requests with replies, and by one
// broadcast. It builds every subject, encodes and decodes every message, and is the only package
// that imports the NATS client. Nothing is stored on a server, so any server, an empty one too, can
// take the place of a dead one.
//
// The decoders are strict: what they return is valid as far as a message alone can tell. The
// coordinator checks whether a ticket or a range belongs to its run.
package bus
