package git

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/sideband"
	"github.com/go-git/go-git/v5/plumbing/transport"
	githttp "github.com/go-git/go-git/v5/plumbing/transport/http"

	"github.com/greenwright/greenwright/vcs"
)

const (
	// headerTimeout bounds the wait for an answer to begin: servers compute
	// packs before they send the first byte.
	headerTimeout = 5 * time.Minute
	// maxRedirects is far above a rename or two.
	maxRedirects = 5
	// maxErrorBody is how much of a refusal's text is read.
	maxErrorBody = 64 << 10
	// maxRemoteText is how much of a server's own words about a push is kept.
	maxRemoteText = 4 << 10
)

// errRedirect says that a server tried to send us, and the credential,
// somewhere else.
var errRedirect = errors.New("redirect to another host refused")

func newHTTPClient(cfg Config, base http.RoundTripper) *http.Client {
	return &http.Client{
		Transport:     &cappedTransport{base: base, limit: cfg.MaxPackBytes},
		CheckRedirect: sameHost,
	}
}

// sameHost follows redirects of a renamed repository only; the port may
// change with http→https alone.
func sameHost(req *http.Request, via []*http.Request) error {
	from, to := via[0].URL, req.URL
	upgrade := from.Scheme == "http" && to.Scheme == "https" && from.Hostname() == to.Hostname()
	if len(via) > maxRedirects || from.Host != to.Host && !upgrade || from.Scheme != to.Scheme && !upgrade {
		return errRedirect
	}
	return nil
}

// cappedTransport bounds every response body.
type cappedTransport struct {
	base  http.RoundTripper
	limit int64
}

// RoundTrip implements http.RoundTripper.
func (t *cappedTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	res, err := t.base.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if res.StatusCode >= http.StatusBadRequest {
		res.Body = readCloser{io.LimitReader(res.Body, maxErrorBody), res.Body}
		return res, nil
	}
	res.Body = readCloser{&cappedReader{r: res.Body, left: t.limit}, res.Body}
	return res, nil
}

type readCloser struct {
	io.Reader
	io.Closer
}

// cappedReader fails with ErrTooLarge beyond its limit.
type cappedReader struct {
	r    io.Reader
	left int64
}

// Read implements io.Reader.
func (c *cappedReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	if c.left -= int64(n); c.left < 0 {
		return 0, fmt.Errorf("%w: more from the remote than allowed", ErrTooLarge)
	}
	return n, err
}

// httpPeer speaks git's smart protocol over HTTP with basic authentication.
type httpPeer struct {
	url    *url.URL
	remote vcs.Remote
	way    way
	tr     transport.Transport
	ep     *transport.Endpoint
}

func newHTTPPeer(s *Store, u *url.URL, remote vcs.Remote) (*httpPeer, error) {
	ep, err := transport.NewEndpoint(u.String())
	if err != nil {
		return nil, fmt.Errorf("%w: remote URL: %w", vcs.ErrInvalid, err)
	}
	way, err := s.wayTo(remote)
	if err != nil {
		return nil, err
	}
	return &httpPeer{url: u, remote: remote, ep: ep, way: way, tr: githttp.NewClient(way.client)}, nil
}

func (p *httpPeer) auth() transport.AuthMethod {
	if p.remote.Password == "" {
		return nil
	}
	return &githttp.BasicAuth{Username: p.remote.Username, Password: p.remote.Password.Reveal()}
}

func (p *httpPeer) scheme() string { return p.url.Scheme }
func (p *httpPeer) gitURL() string { return p.url.String() }

// gitEnv hands the credential over by the environment. Redirects are off,
// since git would carry the header along.
func (p *httpPeer) gitEnv() [][2]string {
	pairs := append([][2]string{{"http.followRedirects", "false"}}, p.way.config...)
	if p.remote.Password != "" {
		token := base64.StdEncoding.EncodeToString([]byte(p.remote.Username + ":" + p.remote.Password.Reveal()))
		pairs = append(pairs, [2]string{"http.extraHeader", "Authorization: Basic " + token})
	}
	return pairs
}

func (p *httpPeer) advertise(ctx context.Context) (*advert, error) {
	s, err := p.tr.NewUploadPackSession(p.ep, p.auth())
	if err != nil {
		return nil, err
	}
	defer s.Close()
	ar, err := s.AdvertisedReferencesContext(ctx)
	if err != nil {
		return nil, err
	}
	return newAdvert(ar), nil
}

func newAdvert(ar *packp.AdvRefs) *advert {
	ad := &advert{refs: make(map[string]string, len(ar.References))}
	for name, h := range ar.References {
		ad.refs[name] = h.String()
	}
	for name, h := range ar.Peeled {
		ad.refs[name] = h.String()
	}
	for _, sym := range ar.Capabilities.Get(capability.SymRef) {
		if target, ok := strings.CutPrefix(sym, "HEAD:"); ok {
			ad.head = target
		}
	}
	if ad.head == "" && ar.Head != nil {
		ad.head = guessHead(ad.refs, ar.Head.String())
	}
	return ad
}

// guessHead finds the branch at HEAD for servers that do not name it.
func guessHead(refs map[string]string, head string) string {
	for _, name := range []string{"refs/heads/main", "refs/heads/master"} {
		if refs[name] == head {
			return name
		}
	}
	best := ""
	for name, sha := range refs {
		if sha == head && strings.HasPrefix(name, "refs/heads/") && (best == "" || name < best) {
			best = name
		}
	}
	return best
}

func (p *httpPeer) fetch(ctx context.Context, dst *objects, wants []plumbing.Hash, depth int) (err error) {
	s, err := p.tr.NewUploadPackSession(p.ep, p.auth())
	if err != nil {
		return err
	}
	defer s.Close()
	ar, err := s.AdvertisedReferencesContext(ctx)
	if err != nil {
		return err
	}
	req := packp.NewUploadPackRequestFromCapabilities(ar.Capabilities)
	req.Wants = wants
	req.Depth = packp.DepthCommits(depth)
	if err := req.Capabilities.Set(capability.Shallow); err != nil {
		return err
	}
	if req.Haves, req.Shallows, err = dst.haves(); err != nil {
		return err
	}
	if depth > 1 { // a deeper pack has to hold what is behind the tips held
		req.Haves, req.Shallows = nil, nil
	}
	res, err := s.UploadPack(ctx, req)
	if err != nil {
		return err
	}
	defer res.Close()
	if err := packfile.UpdateObjectStorage(dst.st, demux(req.Capabilities, res)); err != nil {
		return fmt.Errorf("receiving pack: %w", err)
	}
	return dst.moveBoundary(res.Shallows)
}

func demux(caps *capability.List, r io.Reader) io.Reader {
	switch {
	case caps.Supports(capability.Sideband64k):
		return sideband.NewDemuxer(sideband.Sideband64k, r)
	case caps.Supports(capability.Sideband):
		return sideband.NewDemuxer(sideband.Sideband, r)
	}
	return r
}

func (p *httpPeer) push(ctx context.Context, src *objects, cmd pushCommand) error {
	s, err := p.tr.NewReceivePackSession(p.ep, p.auth())
	if err != nil {
		return err
	}
	defer s.Close()
	ar, err := s.AdvertisedReferencesContext(ctx)
	if err != nil {
		return err
	}
	if at := ar.References[cmd.ref.String()]; at != cmd.old {
		return fmt.Errorf("%w: %s is at %s, not at %s", vcs.ErrConflict, cmd.ref, at, cmd.old)
	}
	req := packp.NewReferenceUpdateRequestFromCapabilities(ar.Capabilities)
	req.Commands = []*packp.Command{{Name: cmd.ref, Old: cmd.old, New: cmd.new}}
	var said cappedText
	if ar.Capabilities.Supports(capability.Sideband64k) {
		if err := req.Capabilities.Set(capability.Sideband64k); err != nil {
			return err
		}
		req.Progress = &said
	}
	r, w := io.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, err := packfile.NewEncoder(w, src.st, false).Encode(cmd.objects, 0)
		w.CloseWithError(err)
	}()
	req.Packfile = r
	report, err := s.ReceivePack(ctx, req)
	_ = r.Close()
	<-done
	return pushError(report, err, said.String())
}

// pushError reads the server's verdict on the one ref we sent.
func pushError(report *packp.ReportStatus, err error, said string) error {
	if report == nil || len(report.CommandStatuses) == 0 {
		return err
	}
	status := report.CommandStatuses[0].Status
	if status == "ok" {
		return err
	}
	kind := vcs.ErrForbidden // hooks and protected branches
	for _, word := range []string{"non-fast-forward", "fetch first", "lock", "stale info", "already exists", "failed to update ref", "incorrect old value"} {
		if strings.Contains(status, word) {
			kind = vcs.ErrConflict
		}
	}
	return fmt.Errorf("%w: the remote said %q %s", kind, status, strings.TrimSpace(said))
}

// cappedText keeps the start of what a server says.
type cappedText struct{ strings.Builder }

// Write implements io.Writer and never fails.
func (c *cappedText) Write(p []byte) (int, error) {
	if room := maxRemoteText - c.Len(); room > 0 {
		c.Builder.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}
