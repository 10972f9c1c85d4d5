// Package bus is the wire between coordinators and workers: core NATS, requests and one broadcast. It builds
// every subject, encodes and decodes every message, and is the only package that imports the NATS client. Nothing is
// stored on a server, so any server, an empty one too, can take the place of a dead one.
//
// The decoders are strict: what they return is valid as far as a message alone can tell. Whether a ticket or a range
// belongs to a run is for the coordinator to check.
package bus
