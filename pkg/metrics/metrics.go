// Package metrics exports the numbers of a coordinator or a worker to Prometheus. It computes
// nothing: it has the snapshots that services make for displays, and a scrape reads the latest one.
// So a scrape never waits for a service, nor a service for a scrape.
//
// docs/metrics.md lists every metric. Labels have few values, which are known beforehand; those of
// a metric named _info describe the process. No metric names a worker but its own.
package metrics

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// maxScrapes is the number of scrapes that are answered at a time. Others get status 503.
const maxScrapes = 4

// metric describes a gauge or a counter.
type metric struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
}

func gauge(name, help string, labels ...string) metric {
	return metric{prometheus.NewDesc(name, help, labels, nil), prometheus.GaugeValue}
}

func counter(name, help string, labels ...string) metric {
	return metric{prometheus.NewDesc(name, help, labels, nil), prometheus.CounterValue}
}

// The metrics of both processes.
var (
	buildInfo  = gauge("nqueens_build_info", "1; the label is the version of the program.", "version")
	connected  = gauge("nqueens_connected", "1 while there is a connection to a NATS server, else 0.")
	reconnects = counter("nqueens_reconnects_total", "Connections to a NATS server that were made again after a loss.")
	unreadable = counter("nqueens_messages_rejected_total", "Messages that could not be read, as of another protocol version.")
)

// Link is the connection of a process to its NATS servers.
type Link struct {
	Connected  bool
	Reconnects uint64
	Rejected   uint64 // Messages that could not be read.
}

func (l *Link) collect(emit emitter) {
	emit.flag(connected, l.Connected)
	emit.count(reconnects, l.Reconnects)
	emit.count(unreadable, l.Rejected)
}

// emitter sends the values of metrics to a scrape.
type emitter chan<- prometheus.Metric

func (e emitter) value(m metric, value float64, labels ...string) {
	e <- prometheus.MustNewConstMetric(m.desc, m.kind, value, labels...)
}

func (e emitter) count(m metric, value uint64, labels ...string) {
	e.value(m, float64(value), labels...)
}

func (e emitter) flag(m metric, value bool) {
	if value {
		e.value(m, 1)
	} else {
		e.value(m, 0)
	}
}

// page is what a process exports.
type page struct{ registry *prometheus.Registry }

// newPage returns a page with the given collectors, and those of the Go runtime and the process.
func newPage(all ...prometheus.Collector) page {
	p := page{prometheus.NewPedanticRegistry()}
	p.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	p.registry.MustRegister(all...)
	return p
}

// Handler answers scrapes.
func (p page) Handler() http.Handler {
	return promhttp.HandlerFor(p.registry, promhttp.HandlerOpts{MaxRequestsInFlight: maxScrapes})
}
