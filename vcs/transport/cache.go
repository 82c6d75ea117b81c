package transport

import (
	"bytes"
	"container/list"
	"fmt"
	"io"
	"net/http"
	"sync"
)

// maxEntry is the largest body kept; listings of a hundred comments are below.
const maxEntry = 1 << 20

// cache asks again with If-None-Match what it has seen before: an unchanged
// answer costs nothing of GitHub's primary limit. It never answers by itself.
type cache struct {
	next http.RoundTripper
	max  int64

	mu      sync.Mutex
	size    int64                 // guarded by mu
	entries map[key]*list.Element // guarded by mu
	recent  *list.List            // guarded by mu; of *entry, the latest first
}

type entry struct {
	key    key
	etag   string
	header http.Header
	body   []byte
}

func newCache(next http.RoundTripper, maxBytes int64) *cache {
	return &cache{next: next, max: maxBytes, entries: map[key]*list.Element{}, recent: list.New()}
}

func (c *cache) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodGet || r.Header.Get("Range") != "" || r.Header.Get("If-None-Match") != "" {
		return c.next.RoundTrip(r)
	}
	k := keyOf(r.URL.String(), r.Header.Get("Authorization"), r.Header.Get("Accept"))
	known := c.find(k)
	sent := r
	if known != nil {
		sent = r.Clone(r.Context())
		sent.Header.Set("If-None-Match", known.etag)
	}
	resp, err := c.next.RoundTrip(sent)
	if err != nil {
		return nil, err
	}
	if known != nil && resp.StatusCode == http.StatusNotModified {
		discard(resp)
		return known.response(r, resp), nil
	}
	return c.keep(k, r, resp)
}

// response is the kept answer with the fresh one's limits.
func (e *entry) response(r *http.Request, fresh *http.Response) *http.Response {
	h := e.header.Clone()
	for name, v := range fresh.Header {
		h[name] = v
	}
	h.Set("Content-Length", fmt.Sprint(len(e.body)))
	return &http.Response{
		Status: "200 OK", StatusCode: http.StatusOK, Proto: fresh.Proto, ProtoMajor: fresh.ProtoMajor, ProtoMinor: fresh.ProtoMinor,
		Header: h, Body: io.NopCloser(bytes.NewReader(e.body)), ContentLength: int64(len(e.body)), Request: r,
	}
}

// keep remembers an answer that may be asked for again.
func (c *cache) keep(k key, r *http.Request, resp *http.Response) (*http.Response, error) {
	etag := resp.Header.Get("ETag")
	if resp.StatusCode != http.StatusOK || etag == "" || resp.ContentLength > maxEntry {
		return resp, nil
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxEntry+1))
	if err != nil {
		_ = resp.Body.Close()
		return nil, unavailable(r, err)
	}
	rest := resp.Body
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(body), rest), rest}
	if len(body) <= maxEntry {
		c.put(&entry{key: k, etag: etag, header: resp.Header.Clone(), body: body})
	}
	return resp, nil
}

func (c *cache) find(k key) *entry {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.entries[k]
	if !ok {
		return nil
	}
	c.recent.MoveToFront(e)
	return e.Value.(*entry)
}

func (c *cache) put(e *entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drop(c.entries[e.key])
	c.entries[e.key] = c.recent.PushFront(e)
	c.size += int64(len(e.body))
	for c.size > c.max {
		c.drop(c.recent.Back())
	}
}

// drop is called with mu held; nil is no element.
func (c *cache) drop(el *list.Element) {
	if el == nil {
		return
	}
	e := c.recent.Remove(el).(*entry)
	delete(c.entries, e.key)
	c.size -= int64(len(e.body))
}
