package wire

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/greenwright/greenwright/jobs"
)

// metrics are the program's own figures. Labels are from closed sets.
type metrics struct {
	registry   *prometheus.Registry
	deliveries *prometheus.CounterVec
	latency    prometheus.Histogram
	jobs       *prometheus.CounterVec
	duration   *prometheus.HistogramVec
	lost       *prometheus.CounterVec
}

func newMetrics() *metrics {
	m := &metrics{
		registry:   prometheus.NewRegistry(),
		deliveries: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "greenwright_webhook_deliveries_total", Help: "Webhook requests by outcome and reason."}, []string{"outcome", "reason"}),
		latency:    prometheus.NewHistogram(prometheus.HistogramOpts{Name: "greenwright_webhook_seconds", Help: "Time to answer a webhook request.", Buckets: prometheus.ExponentialBuckets(0.0005, 2, 14)}),
		jobs:       prometheus.NewCounterVec(prometheus.CounterOpts{Name: "greenwright_jobs_total", Help: "Ended jobs by kind and end."}, []string{"kind", "state"}),
		duration:   prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "greenwright_job_seconds", Help: "Time from a job's first step to its end.", Buckets: prometheus.ExponentialBuckets(1, 2, 13)}, []string{"kind"}),
		lost:       prometheus.NewCounterVec(prometheus.CounterOpts{Name: "greenwright_queue_lost_total", Help: "Tasks that were given up and are kept in the archive."}, []string{"kind"}),
	}
	m.registry.MustRegister(m.deliveries, m.latency, m.jobs, m.duration, m.lost,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Delivery implements webhook.Observer.
func (m *metrics) Delivery(outcome, reason string, d time.Duration) {
	m.deliveries.WithLabelValues(outcome, reason).Inc()
	m.latency.Observe(d.Seconds())
}

func (m *metrics) ended(job jobs.Job, state jobs.State, took time.Duration) {
	m.jobs.WithLabelValues(string(job.Kind), string(state)).Inc()
	m.duration.WithLabelValues(string(job.Kind)).Observe(took.Seconds())
}

func (m *metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}
