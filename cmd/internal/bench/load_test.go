package bench_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/greenwright/greenwright/vcs"
	"github.com/greenwright/greenwright/webhook/webhooktest"
)

// secret signs every delivery.
const secret = "a secret of the benchmarks"

// firstComment is the id of the comment that is replaced in every delivery:
// as many digits as any id that follows, so that lengths stay.
const firstComment = 900_000_000_000

// subject is what deliveries are about.
type subject struct {
	site    webhooktest.Site
	repo    vcs.Repo
	issue   vcs.Issue
	comment vcs.Comment
}

// sampleSubject is a comment `/agent fix`, of GitHub's size.
func sampleSubject() subject {
	s := webhooktest.NewSample()
	return subject{site: s.Site, repo: s.Repo, issue: s.Issue, comment: s.Comment}
}

// round is a signed request that is made distinct in place: building and
// signing must cost the generator little, it shares the cores.
type round struct {
	raw                   []byte
	delivery, sign, start int   // offsets of the id, the signature, the body
	ids                   []int // offsets of the comment's id
	mac                   hash.Hash
	sum                   []byte
}

const zeroSign = "0000000000000000000000000000000000000000000000000000000000000000"

func newRound(addr string, s subject) *round {
	digits := strconv.Itoa(firstComment)
	s.comment.ID = firstComment
	s.comment.URL = s.issue.URL + "#issuecomment-" + digits
	body := s.site.IssueComment("created", s.repo, s.issue, s.comment, s.comment.Author, "").Body
	head := fmt.Sprintf("POST /webhooks/github HTTP/1.1\r\nHost: %s\r\nUser-Agent: GitHub-Hookshot/044aadd\r\nAccept: */*\r\n"+
		"Content-Type: application/json\r\nX-GitHub-Event: issue_comment\r\nX-GitHub-Hook-ID: 292430182\r\n"+
		"X-GitHub-Hook-Installation-Target-ID: 79929171\r\nX-GitHub-Hook-Installation-Target-Type: repository\r\n"+
		"X-GitHub-Delivery: %s\r\nX-Hub-Signature-256: sha256=%s\r\nContent-Length: %d\r\n\r\n",
		addr, webhooktest.DeliveryID(0), zeroSign, len(body))
	r := &round{raw: append([]byte(head), body...), start: len(head), mac: hmac.New(sha256.New, []byte(secret))}
	r.delivery = bytes.Index(r.raw, []byte(webhooktest.DeliveryID(0)))
	r.sign = bytes.Index(r.raw, []byte(zeroSign))
	for at := r.start; ; at += len(digits) {
		next := bytes.Index(r.raw[at:], []byte(digits))
		if next < 0 {
			return r
		}
		at += next
		r.ids = append(r.ids, at)
	}
}

// load makes it the n-th delivery.
func (r *round) load(n int64) []byte {
	copy(r.raw[r.delivery:], webhooktest.DeliveryID(int(n)))
	digits := strconv.AppendInt(nil, firstComment+n, 10)
	for _, at := range r.ids {
		copy(r.raw[at:], digits)
	}
	r.mac.Reset()
	r.mac.Write(r.raw[r.start:])
	r.sum = r.mac.Sum(r.sum[:0])
	hex.Encode(r.raw[r.sign:], r.sum)
	return r.raw
}

// load is a bounded number of keep-alive connections to one receiver.
type load struct {
	addr  string
	about subject
	conns int
	sent  atomic.Int64 // numbers the deliveries
}

// tally is what a time of load gave.
type tally struct {
	took      time.Duration
	latencies []time.Duration // sorted
	codes     map[int]int
	client    time.Duration // the generator's CPU time
}

func (t tally) rate() float64 { return float64(len(t.latencies)) / t.took.Seconds() }

// quantile of sorted durations, by the nearest rank.
func quantile(sorted []time.Duration, q float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(int(q*float64(len(sorted))), len(sorted)-1)]
}

// full sends without pause on every connection for d: the rate is what the
// receiver takes, the latency that of a receiver that is never idle.
func (l *load) full(ctx context.Context, d time.Duration) (tally, error) {
	return l.run(ctx, func(p *pacer) (time.Time, bool) {
		now := time.Now()
		return now, now.Sub(p.start) < d
	})
}

// count sends n deliveries without pause.
func (l *load) count(ctx context.Context, n int64) (tally, error) {
	var taken atomic.Int64
	return l.run(ctx, func(*pacer) (time.Time, bool) { return time.Now(), taken.Add(1) <= n })
}

// paced sends at a mean rate for d, at random intervals. Latency counts from
// when a delivery was due, so that a receiver that stalls is charged for all
// that wait meanwhile; the generator's own lateness is in it too.
func (l *load) paced(ctx context.Context, d time.Duration, rate float64) (tally, error) {
	mean := float64(l.conns) / rate * float64(time.Second)
	return l.run(ctx, func(p *pacer) (time.Time, bool) {
		p.due = p.due.Add(time.Duration(rand.ExpFloat64() * mean))
		return p.due, p.due.Sub(p.start) < d
	})
}

// pacer is one connection's schedule, from the start of the load.
type pacer struct{ start, due time.Time }

func (l *load) run(ctx context.Context, next func(*pacer) (time.Time, bool)) (tally, error) {
	conns, err := l.connect(ctx) // all of them first: a forge's are open already
	if err != nil {
		return tally{}, err
	}
	defer func() {
		for _, c := range conns {
			_ = c.Close()
		}
	}()
	parts := make([]tally, l.conns)
	cpu, start := ownCPU(), time.Now()
	group, ctx := errgroup.WithContext(ctx)
	for i := range parts {
		parts[i].codes = map[int]int{}
		group.Go(func() error { return l.drive(ctx, conns[i], start, next, &parts[i]) })
	}
	if err := group.Wait(); err != nil {
		return tally{}, err
	}
	sum := tally{took: time.Since(start), codes: map[int]int{}, client: ownCPU() - cpu}
	for _, p := range parts {
		sum.latencies = append(sum.latencies, p.latencies...)
		for code, n := range p.codes {
			sum.codes[code] += n
		}
	}
	slices.Sort(sum.latencies)
	return sum, nil
}

func (l *load) connect(ctx context.Context) ([]net.Conn, error) {
	conns := make([]net.Conn, 0, l.conns)
	var d net.Dialer
	for range l.conns {
		conn, err := d.DialContext(ctx, "tcp", l.addr)
		if err != nil {
			for _, c := range conns {
				_ = c.Close()
			}
			return nil, fmt.Errorf("connecting the load: %w", err)
		}
		conns = append(conns, conn)
	}
	return conns, nil
}

// drive sends on one connection, one delivery at a time, until next ends it.
func (l *load) drive(ctx context.Context, conn net.Conn, start time.Time, next func(*pacer) (time.Time, bool), into *tally) error {
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Now()) })()
	answers := bufio.NewReader(conn)
	shot := newRound(l.addr, l.about)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for pace := (&pacer{start: start, due: start}); ; {
		due, more := next(pace)
		if !more {
			return nil
		}
		if err := await(ctx, timer, due); err != nil {
			return err
		}
		code, err := exchange(conn, answers, shot.load(l.sent.Add(1)))
		if err != nil {
			return err
		}
		into.latencies = append(into.latencies, time.Since(due))
		into.codes[code]++
	}
}

func await(ctx context.Context, timer *time.Timer, due time.Time) error {
	wait := time.Until(due)
	if wait <= 0 {
		return nil
	}
	timer.Reset(wait)
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// exchange sends one request and reads its answer, no more of HTTP than the
// receiver speaks: a status line, headers with a length, a body.
func exchange(conn io.Writer, answers *bufio.Reader, request []byte) (int, error) {
	if _, err := conn.Write(request); err != nil {
		return 0, fmt.Errorf("sending a delivery: %w", err)
	}
	line, err := answers.ReadSlice('\n')
	if err != nil {
		return 0, fmt.Errorf("reading an answer: %w", err)
	}
	if len(line) < len("HTTP/1.1 200") {
		return 0, fmt.Errorf("answer begins with %q", line)
	}
	code, err := strconv.Atoi(string(line[9:12]))
	if err != nil {
		return 0, fmt.Errorf("answer begins with %q", line)
	}
	length := -1
	for {
		line, err := answers.ReadSlice('\n')
		if err != nil {
			return 0, fmt.Errorf("reading an answer's headers: %w", err)
		}
		if line = bytes.TrimSpace(line); len(line) == 0 {
			break
		}
		if value, ok := bytes.CutPrefix(line, []byte("Content-Length: ")); ok {
			length, _ = strconv.Atoi(string(value))
		}
	}
	if length < 0 {
		return 0, errors.New("answer without a length")
	}
	_, err = answers.Discard(length)
	return code, err
}
