package bench_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/greenwright/greenwright/sandbox"
)

const (
	plainExec = "plain exec"
	asAccount = "exec as the run's account"
)

const (
	starts       = 21
	commands     = 200
	streamBytes  = 200_000_000
	streamRounds = 3
)

var (
	trueArgv  = []string{"true"}
	shellArgv = []string{"/bin/sh", "-c", "true"}
)

// BenchmarkSandboxLatency measures what the sandbox costs a command, in turns
// with a plain process and with the two designs that the prototype measured:
// the start, the first command, each further one, the end, and how fast output
// comes out.
func BenchmarkSandboxLatency(b *testing.B) {
	l, t := newLab(b), timings{}
	proto, err := l.newRunscProto()
	if err != nil {
		l.note("%s MISSING here, its rows are left out: %v", protoRunsc, err)
		proto = nil
	}
	l.must(l.lives(t, proto))
	stands := l.stands(proto)
	for i := range commands {
		for n := range stands {
			s := stands[(i+n)%len(stands)] // nobody always follows the same one
			l.must(t.measure(s.name, "true", func() error { return silent(s.run(trueArgv...)) }))
			l.must(t.measure(s.name, "sh -c true", func() error { return silent(s.run(shellArgv...)) }))
		}
	}
	l.must(stream(t, append(stands, l.raw()...)))
	report(t, l)
	l.setting()
}

// stands are all ways to run a command, each started.
func (l *lab) stands(proto *runscProto) []stand {
	out := []stand{
		l.hostStand(plainExec, &syscall.SysProcAttr{}, "/", nil),
		l.hostStand(asAccount, l.account.Attr(), "/", nil),
	}
	for _, d := range l.drivers {
		out = append(out, l.boxStand(d.Name(), l.start(d, l.spec())))
	}
	if l.has("bwrap") {
		out = append(out, l.bwrapEach())
	}
	if p := proto; p != nil {
		const id = "stays"
		l.must(p.start(id))
		l.b.Cleanup(func() {
			if err := p.remove(id); err != nil {
				l.b.Errorf("removing the prototype's sandbox: %v", err)
			}
		})
		out = append(out, p.stand(id))
	}
	return out
}

func silent(out sandbox.Output, err error) error {
	if err == nil && out.TotalBytes != 0 {
		err = fmt.Errorf("it said %q", out.Head)
	}
	return err
}

const whole = "start, a command, end"

// lives starts and ends sandboxes of every kind in turns.
func (l *lab) lives(t timings, proto *runscProto) error {
	for i := range starts {
		for _, d := range l.drivers {
			if err := t.measure(d.Name(), whole, func() error { return l.life(t, d) }); err != nil {
				return err
			}
		}
		if proto == nil {
			continue
		}
		id := "life" + strconv.Itoa(i)
		err := t.measure(protoRunsc, whole, func() error {
			return errors.Join(
				t.measure(protoRunsc, "start", func() error { return proto.start(id) }),
				t.measure(protoRunsc, "first true", func() error { return silent(proto.stand(id).run(trueArgv...)) }),
				t.measure(protoRunsc, "end", func() error { return proto.remove(id) }),
			)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (l *lab) life(t timings, d sandbox.Driver) error {
	spec, ctx := l.spec(), l.b.Context()
	var box sandbox.Sandbox
	err := t.measure(d.Name(), "start", func() (err error) {
		box, err = d.Start(ctx, spec)
		return err
	})
	if err != nil {
		return err
	}
	err = t.measure(d.Name(), "first true", func() error { return silent(l.boxStand("", box).run(trueArgv...)) })
	return errors.Join(err, t.measure(d.Name(), "end", func() error { return box.Close(context.WithoutCancel(ctx)) }))
}

const (
	streaming   = "200 MB of output"
	notRedacted = ", not redacted"
)

// raw are sandboxes whose output nobody redacts, as the prototype's was.
func (l *lab) raw() []stand {
	var out []stand
	for _, d := range l.drivers {
		spec := l.spec()
		spec.Filter = nil
		out = append(out, l.boxStand(d.Name()+notRedacted, l.start(d, spec)))
	}
	return out
}

// stream has each write many lines; a box's are redacted on their way.
func stream(t timings, stands []stand) error {
	script := "yes 'ok      github.com/greenwright/greenwright/sandbox/box  0.042s' | head -c " + strconv.Itoa(streamBytes)
	for range streamRounds {
		for _, s := range stands {
			err := t.measure(s.name, streaming, func() error {
				out, err := s.run("/bin/sh", "-c", script)
				if err == nil && out.TotalBytes != streamBytes {
					err = fmt.Errorf("%d bytes came, want %d", out.TotalBytes, streamBytes)
				}
				return err
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// report prints every figure, and each driver's beside its prototype's.
func report(t timings, l *lab) {
	for _, what := range []string{"start", "first true", "end", whole, "true", "sh -c true", streaming} {
		t.show(l, what, plainExec, asAccount, "bwrap", "bwrap"+notRedacted, protoBwrap, "runsc", "runsc"+notRedacted, protoRunsc)
	}
	for _, pair := range [][2]string{{"bwrap", protoBwrap}, {"runsc", protoRunsc}} {
		var lines []string
		compare := func(what, where string, q float64) {
			ours, theirs := t.at(where, what, q), t.at(pair[1], what, q)
			if ours > 0 && theirs > 0 {
				what += strings.TrimPrefix(where, pair[0])
				lines = append(lines, verdict{what: fmt.Sprintf("%s, p%.0f", what, 100*q), got: millis(ours), target: millis(theirs), unit: "ms"}.String())
			}
		}
		for _, what := range []string{"true", "sh -c true", whole} {
			compare(what, pair[0], 0.5)
			compare(what, pair[0], 0.95)
		}
		compare(streaming, pair[0]+notRedacted, 0.5)
		compare(streaming, pair[0], 0.5)
		if pair[0] == "bwrap" {
			lines = append(lines, evens(t)...)
		}
		l.show(pair[0]+" against the prototype", nil, lines...)
	}
}

// evens says after how many commands a box of bubblewrap has cost less than a
// bubblewrap for each.
func evens(t timings) []string {
	once, each, proto := t.at("bwrap", "start", 0.5)+t.at("bwrap", "end", 0.5), t.at("bwrap", "true", 0.5), t.at(protoBwrap, "true", 0.5)
	if each == 0 || proto <= each {
		return nil
	}
	return []string{fmt.Sprintf("a box costs less than %s from command %d on", protoBwrap, int(once/(proto-each))+1)}
}

const idleBoxes = 3

// BenchmarkSandboxMemory measures what an idle sandbox keeps, as the kernel
// shares it out among the processes that map a page (Pss).
func BenchmarkSandboxMemory(b *testing.B) {
	l := newLab(b)
	for _, d := range l.drivers {
		figures, lines := map[string]float64{}, []string{}
		before, err := offspring()
		l.must(err)
		for n := 1; n <= idleBoxes; n++ {
			box := l.start(d, l.spec())
			l.must(silent(l.boxStand("", box).run(shellArgv...)))
			if n > 1 && n < idleBoxes {
				continue
			}
			m, parts, err := grown(before)
			l.must(err)
			const mb = 1 << 20
			lines = append(lines, fmt.Sprintf("%d idle: Pss %.1f MB, RSS %.1f MB: %v", n, float64(m.pss)/mb, float64(m.rss)/mb, parts))
			figures[fmt.Sprintf("pss-each-of-%d-MB", n)] = float64(m.pss) / mb / float64(n)
		}
		l.show(d.Name(), figures, lines...)
	}
	l.setting()
}
