package gitlab

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/greenwright/greenwright/vcs"
)

// HookEvents are the events that a hook is sent.
type HookEvents struct {
	Notes              bool `json:"note_events"`
	ConfidentialNotes  bool `json:"confidential_note_events"`
	Issues             bool `json:"issues_events"`
	ConfidentialIssues bool `json:"confidential_issues_events"`
	MergeRequests      bool `json:"merge_requests_events"`
	Pipelines          bool `json:"pipeline_events"`
	Jobs               bool `json:"job_events"`
	Pushes             bool `json:"push_events"`
}

// WantedEvents are those that something reacts to.
func WantedEvents() HookEvents {
	return HookEvents{
		Notes: true, ConfidentialNotes: true, Issues: true, ConfidentialIssues: true, MergeRequests: true, Pipelines: true, Jobs: true,
	}
}

// Hook is a webhook as GitLab has it.
type Hook struct {
	ID int64 `json:"id"`
	// URL may hold a secret of somebody else's.
	URL string `json:"url"`
	HookEvents
	VerifyTLS bool `json:"enable_ssl_verification"`
	// Status is "executable", "temporarily_disabled" or "disabled", the last
	// until somebody tests the hook; empty before GitLab 15.
	Status        string    `json:"alert_status"`
	DisabledUntil time.Time `json:"disabled_until"`
	CreatedAt     time.Time `json:"created_at"`
}

// Enabled reports whether GitLab sends deliveries at present.
func (h Hook) Enabled() bool { return h.Status == "" || h.Status == "executable" }

// HookSpec is what a hook should be.
type HookSpec struct {
	URL    string
	Token  vcs.Secret // comes back as X-Gitlab-Token
	Events HookEvents // the zero value is WantedEvents
	// SkipTLSVerify is for a receiver whose certificate GitLab does not know.
	SkipTLSVerify bool
}

// validate refuses what GitLab would take for something else.
func (s HookSpec) validate() error {
	u, err := url.Parse(s.URL)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || u.User != nil {
		return fmt.Errorf("%w: hook URL: want https://host/path", vcs.ErrInvalid)
	}
	if s.Token == "" || strings.ContainsAny(s.Token.Reveal(), "\r\n\x00") {
		return fmt.Errorf("%w: hook token: want one, in one line", vcs.ErrInvalid)
	}
	return nil
}

// hookBody is what is written of a hook.
type hookBody struct {
	URL   string `json:"url"`
	Token string `json:"token"`
	HookEvents
	VerifyTLS bool `json:"enable_ssl_verification"`
}

// Hooks lists a project's or group's webhooks. Those of groups need GitLab
// Premium.
func (f *Forge) Hooks(ctx context.Context, s Scope) ([]Hook, error) {
	path, err := s.path()
	if err != nil {
		return nil, err
	}
	all, err := collect[Hook](ctx, f, path+"/hooks", nil)
	if err != nil {
		return nil, f.mapRefusal("listing the hooks of "+s.String(), hookRole(s), err)
	}
	return all, nil
}

// hookRole is what managing hooks takes.
func hookRole(s Scope) Role {
	if s.Group != "" {
		return RoleOwner
	}
	return RoleMaintainer
}

// At reports whether the hook is one to an address: the host's case does not
// matter, nor a slash at the end.
func (h Hook) At(address string) bool {
	a, errA := url.Parse(strings.TrimSuffix(h.URL, "/"))
	b, errB := url.Parse(strings.TrimSuffix(address, "/"))
	if errA != nil || errB != nil {
		return h.URL == address
	}
	a.Host, b.Host = strings.ToLower(a.Host), strings.ToLower(b.Host)
	return a.String() == b.String()
}

// PutHook creates the hook with the URL, or makes the one that is there as the
// spec says, its token included, which GitLab does not show.
func (f *Forge) PutHook(ctx context.Context, s Scope, spec HookSpec) (h Hook, created bool, err error) {
	if err := spec.validate(); err != nil {
		return Hook{}, false, fmt.Errorf("gitlab: %w", err)
	}
	known, err := f.Hooks(ctx, s)
	if err != nil {
		return Hook{}, false, err
	}
	in := hookBody{URL: spec.URL, Token: spec.Token.Reveal(), HookEvents: spec.Events, VerifyTLS: !spec.SkipTLSVerify}
	if in.HookEvents == (HookEvents{}) {
		in.HookEvents = WantedEvents()
	}
	method, place := http.MethodPost, "/hooks"
	for _, k := range known {
		if k.At(spec.URL) {
			method, place = http.MethodPut, hookPath("", k.ID)
			break
		}
	}
	if err := f.writeIn(ctx, s, method, place, in, &h); err != nil {
		return Hook{}, false, f.mapRefusal("writing a hook of "+s.String(), hookRole(s), err)
	}
	return h, method == http.MethodPost, nil
}

// writeIn changes something below a project or group.
func (f *Forge) writeIn(ctx context.Context, s Scope, method, path string, body, out any) error {
	if s.Group == "" {
		return f.write(ctx, s.Project, method, path, body, out)
	}
	group, err := s.path()
	if err != nil {
		return err
	}
	_, err = f.call(ctx, method, group+path, nil, body, out)
	return err
}

func hookPath(scope string, id int64) string { return scope + "/hooks/" + strconv.FormatInt(id, 10) }

// Delivery is one request that GitLab made to a hook, without what was in it.
type Delivery struct {
	ID      int64
	Trigger string // e.g. note_hooks
	EventID string // what the request carried as X-Gitlab-Event-UUID
	// Status is what the receiver answered; 0 when there was no answer, and
	// Failure says why.
	Status   int
	Failure  string
	At       time.Time // when it was answered, as the receiver's clock says; zero when unknown
	Duration time.Duration
}

// deliveryFacts is one delivery on the wire; its status is a number or words.
type deliveryFacts struct {
	ID              int64           `json:"id"`
	Trigger         string          `json:"trigger"`
	RequestHeaders  map[string]any  `json:"request_headers"`
	ResponseHeaders map[string]any  `json:"response_headers"`
	ResponseStatus  json.RawMessage `json:"response_status"`
	Seconds         float64         `json:"execution_duration"`
}

func (d deliveryFacts) delivery() Delivery {
	out := Delivery{ID: d.ID, Trigger: d.Trigger, Duration: time.Duration(d.Seconds * float64(time.Second))}
	out.EventID, _ = d.RequestHeaders["X-Gitlab-Event-UUID"].(string)
	status := strings.Trim(string(d.ResponseStatus), `"`)
	if n, err := strconv.Atoi(status); err == nil {
		out.Status = n
	} else {
		out.Failure = status
	}
	if date, _ := d.ResponseHeaders["Date"].(string); date != "" {
		out.At, _ = http.ParseTime(date) // an extra
	}
	return out
}

// Deliveries lists the newest deliveries of a hook, at most a hundred of the
// last seven days. vcs.ErrUnsupported before GitLab 17.3.
func (f *Forge) Deliveries(ctx context.Context, s Scope, hookID int64) ([]Delivery, error) {
	path, err := s.path()
	if err != nil {
		return nil, err
	}
	doing := fmt.Sprintf("listing the deliveries of hook %d", hookID)
	var got []deliveryFacts
	_, err = list(ctx, f, hookPath(path, hookID)+"/events", nil, 1, func(page []deliveryFacts) bool { got = page; return true })
	if isNotFound(err) {
		err = f.unlessMissing(ctx, path, hookID, err)
	}
	if err != nil {
		return nil, f.mapRefusal(doing, hookRole(s), err)
	}
	out := make([]Delivery, 0, len(got))
	for _, d := range got {
		out = append(out, d.delivery())
	}
	return out, nil
}

// unlessMissing tells a route that this GitLab does not have from a hook that is
// not there: the answers are the same.
func (f *Forge) unlessMissing(ctx context.Context, path string, hookID int64, err error) error {
	if _, findErr := f.hook(ctx, path, hookID); findErr == nil {
		return fmt.Errorf("%w: this GitLab is too old", vcs.ErrUnsupported)
	}
	return err
}

func (f *Forge) hook(ctx context.Context, path string, id int64) (Hook, error) {
	var h Hook
	_, err := f.call(ctx, http.MethodGet, hookPath(path, id), nil, nil, &h)
	return h, err
}

// EnableHook wakes a hook that GitLab has disabled after failures, by testing
// it, and returns how it is then. The test is a push, which starts nothing; a
// project without a commit has none to show: vcs.ErrInvalid. A receiver that
// still fails is a vcs.ErrUnavailable. vcs.ErrUnsupported before GitLab 16.11.
func (f *Forge) EnableHook(ctx context.Context, s Scope, hookID int64) (Hook, error) {
	path, err := s.path()
	if err != nil {
		return Hook{}, err
	}
	doing := fmt.Sprintf("enabling hook %d of %s", hookID, s)
	if err := f.testHook(ctx, s, path, hookID); err != nil {
		return Hook{}, f.mapRefusal(doing, hookRole(s), err)
	}
	h, err := f.hook(ctx, path, hookID)
	if err != nil {
		return Hook{}, f.mapRefusal(doing, hookRole(s), err)
	}
	if !h.Enabled() {
		return h, f.mapError(doing, fmt.Errorf("%w: GitLab still calls it %s", vcs.ErrUnavailable, h.Status))
	}
	return h, nil
}

// testHook has GitLab send a test.
func (f *Forge) testHook(ctx context.Context, s Scope, path string, hookID int64) error {
	err := f.writeIn(ctx, s, http.MethodPost, hookPath("", hookID)+"/test/push_events", nil, nil)
	switch {
	case isNotFound(err):
		return f.unlessMissing(ctx, path, hookID, err)
	case hasStatus(err, http.StatusUnprocessableEntity) && !strings.Contains(err.Error(), "Ensure"):
		// Not "Ensure the project has at least one commit": it was sent.
		return fmt.Errorf("%w: the receiver's answer was no success: %w", vcs.ErrUnavailable, err)
	}
	return err
}
