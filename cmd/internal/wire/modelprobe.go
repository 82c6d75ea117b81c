package wire

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/greenwright/greenwright/agent/model"
	"github.com/greenwright/greenwright/agent/model/gemini"
	"github.com/greenwright/greenwright/agent/model/limit"
	"github.com/greenwright/greenwright/agent/model/probe"
	"github.com/greenwright/greenwright/cmd/internal/config"
	"github.com/greenwright/greenwright/jobs/runner"
	"github.com/greenwright/greenwright/jobs/untrusted"
)

// probeWait is how long serve's start waits for the servers' answers; what
// comes later is used by the jobs after it.
const probeWait = 10 * time.Second

// awaitProbe waits for the probe, but not for long.
func awaitProbe(ctx context.Context, probed <-chan struct{}) {
	timer := time.NewTimer(probeWait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-probed:
	case <-timer.C:
	}
}

// probe asks every configured model of a compatible server what it can do, side
// by side, unless the configuration says so already.
func (m *models) probe(ctx context.Context) {
	if !m.cfg.Probe {
		return
	}
	var wg sync.WaitGroup
	for _, name := range m.cfg.Configured() {
		endpoint, _, _ := strings.Cut(name, "/")
		e, ok := m.cfg.Endpoint(endpoint)
		if ok && e.Compatible() && canBeProbed(e) {
			wg.Go(func() { _, _ = m.learn(ctx, name) }) // which logs what comes of it
		}
	}
	wg.Wait()
}

// canBeProbed: for other drivers there is nothing that a probe could set.
func canBeProbed(e config.Endpoint) bool {
	open := e.Capabilities.Tools == nil && e.Capabilities.MaxTokensField == "" && len(e.Capabilities.TextCalls) == 0
	return open && (e.Driver == config.DriverOpenAI || e.Driver == config.DriverOllama)
}

// learn probes one model, keeps what it found and logs what is missing.
func (m *models) learn(ctx context.Context, name string) (probe.Report, error) {
	endpoint, id, _ := strings.Cut(name, "/")
	e, _ := m.cfg.Endpoint(endpoint)
	transport := m.limits.Transport(limit.Key(e.Key, e.Driver+" "+e.BaseURL, id), nil)
	report, err := probe.Run(ctx, func(can model.Capabilities) (model.Model, error) {
		return m.open(endpoint, id, e, can, transport)
	}, probe.Options{Start: e.Capabilities})
	if err != nil {
		if ctx.Err() == nil {
			m.log.Warn("model does not answer, greenwright doctor helps", "model", name, "error", err)
		}
		return report, err
	}
	m.mu.Lock()
	m.learned[name], m.windows[name] = report.Capabilities, report.Window
	m.mu.Unlock()
	for _, f := range report.Findings {
		if !f.OK {
			m.log.Warn("model's server lacks something", "model", name, "question", f.Question, "detail", f.Detail)
		}
	}
	m.log.Info("model probed", "model", name, "ok", report.OK(), "window", report.Window, "requests", report.Requests)
	return report, nil
}

// checkModels is doctor's part: for each model that the configuration names,
// whether it can be reached, what it can do, its window and its price.
func checkModels(ctx context.Context, cfg config.Config, _ *slog.Logger) []Finding {
	names := cfg.Models.Configured()
	if len(names) == 0 {
		return found("model", Warning, "set models.default and a key (docs/models.md)", "only the mechanic: formatters and linters are repaired, questions and bugs are not")
	}
	m, err := newModels(cfg, nil, slog.New(slog.DiscardHandler))
	if err != nil {
		return found("model", Failure, "", "%s", err)
	}
	out := make([]Finding, len(names))
	var wg sync.WaitGroup
	for i, name := range names {
		wg.Go(func() { out[i] = m.check(ctx, name) })
	}
	wg.Wait()
	return out
}

// check is what doctor says of one model.
func (m *models) check(ctx context.Context, name string) Finding {
	finding := Finding{Name: "model " + name, Severity: OK}
	choice, err := m.one(name, runner.Telling{}, false)
	if err != nil {
		finding.Severity, finding.Detail, finding.Remedy = Failure, err.Error(), "set it, as docs/models.md has it for each driver"
		return finding
	}
	endpoint, id, _ := strings.Cut(name, "/")
	e, _ := m.cfg.Endpoint(endpoint)
	var parts []string
	if canBeProbed(e) && e.Compatible() {
		var report probe.Report
		if report, err = m.learn(ctx, name); err == nil {
			choice.Window = max(choice.Window, report.Window)
			for _, f := range report.Findings {
				parts = append(parts, findingWords(f))
				if !f.OK && f.Question != probe.QuestionParallel {
					finding.Severity, finding.Remedy = Warning, "see docs/models.md, Servers of one's own"
				}
			}
		}
	} else if err = lookUp(ctx, e, id); err == nil {
		parts = append(parts, "reachable, and the key is taken (it was not asked anything: that would cost money)")
	}
	if err != nil {
		finding.Severity, finding.Detail, finding.Remedy = Failure, untrusted.Visible(err.Error()), "check the key, the model's name, base_url and the network"
		return finding
	}
	if choice.Unpriced {
		finding.Severity, finding.Remedy = Warning, "set models.prices to have costs reported"
	}
	finding.Detail = strings.Join(append(parts, windowWords(choice), costWords(choice)), "; ")
	return finding
}

func findingWords(f probe.Finding) string {
	if f.OK {
		return f.Question + ": yes"
	}
	return f.Question + ": no (" + untrusted.Visible(f.Detail) + ")"
}

func windowWords(c runner.Choice) string {
	if c.Window == 0 {
		return "window not known, 128,000 tokens are assumed (set context_tokens)"
	}
	return fmt.Sprintf("window %d tokens", c.Window)
}

func costWords(c runner.Choice) string {
	switch {
	case c.Unpriced:
		return "price not known: usage is reported without its cost"
	case c.Price == "":
		return "costs nothing"
	}
	return c.Price
}

// lookUp asks a service for the model's description, which costs nothing.
func lookUp(ctx context.Context, e config.Endpoint, id string) error {
	req, err := lookUpRequest(ctx, e, id)
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("reaching %s: %w", req.URL.Host, err)
	}
	defer func() { _ = res.Body.Close() }()
	const most = 500
	text, err := io.ReadAll(io.LimitReader(res.Body, most))
	if err != nil {
		return fmt.Errorf("reading from %s: %w", req.URL.Host, err)
	}
	switch {
	case res.StatusCode == http.StatusNotFound && e.Compatible():
		return nil // a gateway without the list of models
	case res.StatusCode == http.StatusNotFound:
		return fmt.Errorf("%s has no model %q", req.URL.Host, id)
	case res.StatusCode == http.StatusUnauthorized, res.StatusCode == http.StatusForbidden:
		return fmt.Errorf("%s refuses the key (status %d)", req.URL.Host, res.StatusCode)
	case res.StatusCode != http.StatusOK:
		return fmt.Errorf("%s answers with status %d: %s", req.URL.Host, res.StatusCode, text)
	}
	return nil
}

// lookUpRequest is GET …/models/id in each vendor's form.
func lookUpRequest(ctx context.Context, e config.Endpoint, id string) (*http.Request, error) {
	base, header := e.BaseURL, http.Header{}
	switch e.Driver {
	case config.DriverAnthropic:
		if base == "" {
			base = "https://api.anthropic.com"
		}
		base = strings.TrimRight(base, "/") + "/v1"
		header.Set("X-Api-Key", e.Key.Reveal())
		header.Set("Anthropic-Version", "2023-06-01")
	case config.DriverGemini:
		if base == "" {
			base = gemini.DefaultURL
		}
		header.Set("X-Goog-Api-Key", e.Key.Reveal())
	default:
		if base == "" {
			base = "https://api.openai.com/v1"
		}
		header.Set("Authorization", "Bearer "+e.Key.Reveal())
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimRight(base, "/")+"/models/"+url.PathEscape(id), nil)
	if err != nil {
		return nil, err
	}
	req.Header = header
	return req, nil
}
