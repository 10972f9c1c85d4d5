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

// Link is the connection of a process to its NATS servers.
type Link struct {
	Connected  bool
	Reconnects uint64
	Rejected   uint64 // Messages that could not be read.
}

func (l *Link) collect(to scrape) {
	up := 0
	if l.Connected {
		up = 1
	}
	gauge(to, "nqueens_connected", "1 while there is a connection to a NATS server, else 0.", up)
	counter(to, "nqueens_reconnects_total", "Connections to a NATS server that were made again after a loss.", l.Reconnects)
	counter(to, "nqueens_messages_rejected_total", "Messages that could not be read, as of another protocol version.", l.Rejected)
}

// collectBuild sends the version of the program.
func collectBuild(to scrape, version string) {
	gauge(to, "nqueens_build_info", "1; the label is the version of the program.", 1, "version", version)
}

// scrape takes the metrics of a scrape.
type scrape chan<- prometheus.Metric

// gauge sends a number that goes up and down. Labels are names, each with its value.
func gauge[N number](to scrape, name, help string, value N, labels ...string) {
	to.send(prometheus.GaugeValue, name, help, float64(value), labels)
}

// counter sends a number that only goes up.
func counter[N number](to scrape, name, help string, value N, labels ...string) {
	to.send(prometheus.CounterValue, name, help, float64(value), labels)
}

type number interface {
	~int | ~int64 | ~uint64 | ~float64
}

func (to scrape) send(kind prometheus.ValueType, name, help string, value float64, labels []string) {
	var names, values []string
	for i := 0; i < len(labels); i += 2 {
		names, values = append(names, labels[i]), append(values, labels[i+1])
	}
	to <- prometheus.MustNewConstMetric(prometheus.NewDesc(name, help, names, nil), kind, value, values...)
}

// collector calls a function for each scrape. It implements [prometheus.Collector].
type collector func(to scrape)

// Describe sends nothing: a scrape may have any of the metrics.
func (collector) Describe(chan<- *prometheus.Desc) {}

// Collect sends the metrics.
func (c collector) Collect(to chan<- prometheus.Metric) { c(to) }

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
