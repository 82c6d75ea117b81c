package wire

import (
	"context"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/greenwright/greenwright/agent/model"
	"github.com/greenwright/greenwright/jobs"
	"github.com/greenwright/greenwright/jobs/store"
)

// metrics are the program's own figures. Labels are from closed sets.
type metrics struct {
	registry   *prometheus.Registry
	deliveries *prometheus.CounterVec
	latency    prometheus.Histogram
	jobs       *prometheus.CounterVec
	duration   *prometheus.HistogramVec
	lost       *prometheus.CounterVec
	asked      *prometheus.CounterVec
	tokens     *prometheus.CounterVec
	cost       *prometheus.CounterVec
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
	m.asked = prometheus.NewCounterVec(prometheus.CounterOpts{Name: "greenwright_model_requests_total", Help: "Requests to models by driver and end: ok, or the class of the failure."}, []string{"driver", "outcome"})
	m.tokens = prometheus.NewCounterVec(prometheus.CounterOpts{Name: "greenwright_model_tokens_total", Help: "Tokens by driver and kind: input is what was neither read from nor written to a cache."}, []string{"driver", "kind"})
	m.cost = prometheus.NewCounterVec(prometheus.CounterOpts{Name: "greenwright_model_cost_usd_total", Help: "What replies cost in US dollars, where the price is known."}, []string{"driver"})
	m.registry.MustRegister(m.deliveries, m.latency, m.jobs, m.duration, m.lost, m.asked, m.tokens, m.cost,
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

// replied counts one request to a model.
func (m *metrics) replied(driver string, r model.Response) {
	const million = 1e6
	m.asked.WithLabelValues(driver, "ok").Inc()
	for kind, n := range map[string]int64{"input": r.Usage.Input, "cache_read": r.Usage.CacheRead, "cache_write": r.Usage.CacheWrite, "output": r.Usage.Output} {
		m.tokens.WithLabelValues(driver, kind).Add(float64(n))
	}
	m.cost.WithLabelValues(driver).Add(float64(r.CostMicroUSD) / million)
}

// failed counts one request that a model did not answer.
func (m *metrics) failed(driver, class string) { m.asked.WithLabelValues(driver, class).Inc() }

func (m *metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

// queues are those whose age is told.
var queues = []string{"events", "runs"}

// gauge reads figures from Redis when they are asked for: they are the same
// whichever process is asked. Where Redis does not answer there are none.
type gauge struct {
	oldest func(context.Context) (map[string]time.Duration, error)
	live   func(context.Context) (int, error)

	age, runs *prometheus.Desc
}

// scrapeLimit bounds the questions to Redis of one scrape.
const scrapeLimit = 2 * time.Second

// watch adds the figures that Redis has.
func (m *metrics) watch(oldest func(context.Context) (map[string]time.Duration, error), live func(context.Context) (int, error)) {
	m.registry.MustRegister(&gauge{
		oldest: oldest, live: live,
		age:  prometheus.NewDesc("greenwright_queue_oldest_seconds", "Age of the task that has waited longest in a queue; 0 when none waits.", []string{"queue"}, nil),
		runs: prometheus.NewDesc("greenwright_runs_live", "Runs that have begun and not ended, whether or not a worker has them in hand.", nil, nil),
	})
}

// Describe implements prometheus.Collector.
func (g *gauge) Describe(ch chan<- *prometheus.Desc) { ch <- g.age; ch <- g.runs }

// Collect implements prometheus.Collector.
func (g *gauge) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), scrapeLimit) //nolint:forbidigo // a collector gets no context
	defer cancel()
	if ages, err := g.oldest(ctx); err == nil {
		for _, queue := range queues {
			ch <- prometheus.MustNewConstMetric(g.age, prometheus.GaugeValue, ages[queue].Seconds(), queue)
		}
	}
	if n, err := g.live(ctx); err == nil {
		ch <- prometheus.MustNewConstMetric(g.runs, prometheus.GaugeValue, float64(n))
	}
}

// begun counts the runs that live.
func begun(records *store.Store) func(context.Context) (int, error) {
	return func(ctx context.Context) (int, error) {
		live, err := records.Live(ctx)
		n := 0
		for _, rec := range live {
			if rec.Run != "" && !rec.State.Final() {
				n++
			}
		}
		return n, err
	}
}
