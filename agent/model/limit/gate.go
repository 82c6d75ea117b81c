package limit

import (
	"sync"
	"time"
)

// verdict is what a request's end says of the service.
type verdict int

const (
	verdictNone   verdict = iota // nothing: canceled
	verdictGood                  // it replied
	verdictAlive                 // it answered, but not with a reply (bad request, overflow, refusal)
	verdictSlower                // 429
	verdictBad                   // 5xx, no answer, a stream that broke
)

// How the pace adapts.
const (
	// countFor is the time over which requests are counted, the unit in which
	// vendors state their limits.
	countFor = time.Minute
	// firstPause between two requests follows the first 429, or half the pace
	// kept until then if that is faster; each further 429 doubles it, up to
	// slowest: the lowest limits that vendors have are some requests a minute.
	firstPause = time.Second
	slowest    = 15 * time.Second
	// fastest: below this pause there is none at all.
	fastest = 100 * time.Millisecond
	// easePercent of the pause remains after each reply.
	easePercent = 90
	// cutPause: 429s that arrive together halve the pace once.
	cutPause = time.Second
)

// gate is what is known of one service. Its methods are short and never wait.
type gate struct {
	cfg Config

	mu       sync.Mutex    // guards all below
	next     time.Time     // no request starts before
	interval time.Duration // between two requests; zero is none
	starts   []time.Time   // of the last countFor
	cutAt    time.Time

	failures []time.Time   // of the last cfg.Window
	until    time.Time     // when one request may try; zero while the breaker is closed
	open     time.Duration // how long it was last opened for
	probing  bool
}

// ticket is the leave to send one request after a delay.
type ticket struct {
	delay time.Duration
	probe bool // the one that tries a service that was down
}

// enter hands out a turn, or says why there is none for ticket.delay.
func (g *gate) enter(now time.Time) (ticket, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	var t ticket
	if !g.until.IsZero() {
		if now.Before(g.until) {
			return ticket{delay: g.until.Sub(now)}, ErrOpen
		}
		if g.probing {
			return ticket{delay: g.cfg.Open}, ErrOpen
		}
		t.probe = true
	}
	start := now
	if g.next.After(start) {
		start = g.next
	}
	t.delay = start.Sub(now)
	if t.delay > g.cfg.MaxWait {
		return ticket{delay: t.delay}, ErrPaused
	}
	g.probing = g.probing || t.probe
	g.next = start.Add(g.interval)
	g.starts = append(recent(g.starts, now, countFor), start)
	return t, nil
}

// leave takes what came of a request.
func (g *gate) leave(t ticket, v verdict, after time.Duration, now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if t.probe {
		g.probing = false
	}
	if after > 0 {
		g.pause(now.Add(after))
	}
	switch v {
	case verdictNone:
		return
	case verdictBad:
		g.fail(t, now)
		return
	case verdictSlower:
		g.slower(now)
	case verdictGood:
		if g.interval = g.interval * easePercent / 100; g.interval < fastest {
			g.interval = 0
		}
		g.failures = nil
	case verdictAlive:
	}
	if t.probe { // it answers
		g.until, g.open, g.failures = time.Time{}, 0, nil
	}
}

// fail counts a failure and opens the breaker when there are too many.
func (g *gate) fail(t ticket, now time.Time) {
	g.failures = append(recent(g.failures, now, g.cfg.Window), now)
	if !t.probe && (len(g.failures) < g.cfg.Failures || !g.until.IsZero()) {
		return
	}
	if g.open = 2 * g.open; g.open == 0 {
		g.open = g.cfg.Open
	}
	g.open = min(g.open, g.cfg.OpenMax)
	g.until = now.Add(g.open)
}

// slower halves the pace.
func (g *gate) slower(now time.Time) {
	if now.Sub(g.cutAt) < cutPause {
		return
	}
	g.cutAt = now
	g.starts = recent(g.starts, now, countFor)
	if g.interval > 0 {
		g.interval = min(2*g.interval, slowest)
	} else {
		g.interval = min(2*countFor/time.Duration(max(len(g.starts), 1)), firstPause)
	}
	g.pause(now.Add(g.interval))
}

// pause lets nothing start before.
func (g *gate) pause(until time.Time) {
	if until.After(g.next) {
		g.next = until
	}
}

// recent are the times that are younger than age.
func recent(times []time.Time, now time.Time, age time.Duration) []time.Time {
	for len(times) > 0 && now.Sub(times[0]) >= age {
		times = times[1:]
	}
	return times
}
