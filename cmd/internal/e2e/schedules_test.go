package e2e_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/greenwright/greenwright/vcs"
)

const (
	// chaosSchedules is how many random schedules are played.
	chaosSchedules = "CHAOS_SCHEDULES"
	usualSchedules = 12
	// chaosSeed plays the one schedule of a seed; else seeds count from
	// chaosFirst.
	chaosSeed  = "CHAOS_SEED"
	chaosFirst = "CHAOS_FIRST"
)

// tally counts what schedules did.
type tally struct {
	mu sync.Mutex
	n  map[string]int // under mu
}

func (y *tally) add(what string, n int) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.n[what] += n
}

func (y *tally) String() string {
	y.mu.Lock()
	defer y.mu.Unlock()
	var out []string
	for what, n := range y.n {
		out = append(out, fmt.Sprintf("%d %s", n, what))
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

// TestRandomSchedules: threads, workers and faults at random. Every job ends
// once and is told once, and nothing is done twice.
func TestRandomSchedules(t *testing.T) {
	first, n := int(number(t, chaosFirst, 1)), int(number(t, chaosSchedules, usualSchedules))
	if os.Getenv(chaosSeed) != "" {
		first, n = int(number(t, chaosSeed, 1)), 1
	}
	y, begun := &tally{n: map[string]int{}}, time.Now()
	t.Run("seeds", func(t *testing.T) {
		for seed := first; seed < first+n; seed++ {
			t.Run(strconv.Itoa(seed), func(t *testing.T) {
				t.Parallel()
				t.Cleanup(func() {
					if t.Failed() {
						t.Logf("again: %s=%d go test -run TestRandomSchedules ./cmd/internal/e2e", chaosSeed, seed)
						y.add("schedules failed", 1)
					}
				})
				play(t, uint64(seed), y)
			})
		}
	})
	t.Logf("%d schedules in %s: %s", n, time.Since(begun).Round(time.Second), y)
}

func number(t *testing.T, env string, usual int64) int64 {
	t.Helper()
	text := os.Getenv(env)
	if text == "" {
		return usual
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", env, err)
	}
	return n
}

// event is something that happens to a schedule.
type event struct {
	at   time.Duration // from the begin
	what string
	do   func()
}

// schedule is one play.
type schedule struct {
	*chaos
	rng   *rand.Rand
	tally *tally
	front *front

	events  []event
	live    []*exec.Cmd
	links   map[*exec.Cmd]*link
	leaving []*exec.Cmd
	threads []int
	asked   []vcs.Comment // each of which is a job
}

// span is in which time faults begin: undisturbed, a run takes a second.
const span = 3 * time.Second

func play(t *testing.T, seed uint64, y *tally) {
	c := newChaos(t, byTitle())
	c.front = true
	s := &schedule{chaos: c, rng: rand.New(rand.NewPCG(seed, 0)), tally: y, front: newFront(t, c.on), links: map[*exec.Cmd]*link{}}
	c.hub.AddHook(s.front.url)
	for range 2 + s.rng.IntN(2) {
		s.start()
	}
	for range 1 + s.rng.IntN(3) {
		s.at(s.within(span/2), "a request", s.ask)
	}
	for range 3 + s.rng.IntN(5) {
		s.draw()
	}
	s.run()
	s.calm()
	s.awaitEnds()
	s.quiet()
	s.judge()
}

// within is a random time up to d.
func (s *schedule) within(d time.Duration) time.Duration {
	return time.Duration(s.rng.Int64N(int64(d)))
}

func (s *schedule) at(d time.Duration, what string, do func()) {
	s.events = append(s.events, event{d, what, do})
}

// draw adds a fault, or something that a person does.
func (s *schedule) draw() {
	at := s.within(span)
	all := []func(time.Duration){s.kill, s.kill, s.drain, s.stall, s.stall, s.bounce, s.cutOff, s.cutOff, s.stop, s.tell, s.again}
	all[s.rng.IntN(len(all))](at)
}

// run lets everything happen in its order.
func (s *schedule) run() {
	begun := time.Now()
	for len(s.events) > 0 {
		slices.SortStableFunc(s.events, func(a, b event) int { return cmp.Compare(a.at, b.at) })
		e := s.events[0]
		s.events = s.events[1:]
		pause(s.t.Context(), time.Until(begun.Add(e.at)))
		fmt.Fprintf(s.log, "%s SCHEDULE %s: %s\n", time.Now().UTC().Format(time.RFC3339Nano), e.at.Round(time.Millisecond), e.what)
		s.tally.add(e.what, 1)
		e.do()
	}
}

// start adds a worker behind a link of its own.
func (s *schedule) start() {
	k := newLink(s.t, s.socket())
	cmd := s.worker("GREENWRIGHT_REDIS_URL=" + k.url())
	s.links[cmd] = k
	s.live = append(s.live, cmd)
	s.aim()
}

// aim tells the front who is there.
func (s *schedule) aim() {
	var addrs []string
	for _, cmd := range s.live {
		addrs = append(addrs, s.addrs[cmd])
	}
	s.front.to(addrs)
}

// pick takes a worker out of those that live; nil for none.
func (s *schedule) pick() *exec.Cmd {
	if len(s.live) == 0 {
		return nil
	}
	return s.live[s.rng.IntN(len(s.live))]
}

func (s *schedule) remove(cmd *exec.Cmd) {
	s.live = slices.DeleteFunc(s.live, func(c *exec.Cmd) bool { return c == cmd })
	s.aim()
}

func (s *schedule) kill(at time.Duration) {
	later := at + s.within(time.Second)
	s.at(at, "kills", func() {
		if cmd := s.pick(); cmd != nil {
			killNow(cmd)
			s.remove(cmd)
		}
	})
	s.at(later, "starts", s.start)
}

func (s *schedule) drain(at time.Duration) {
	s.at(at, "drains", func() {
		if cmd := s.pick(); cmd != nil {
			_ = cmd.Process.Signal(syscall.SIGTERM)
			s.remove(cmd)
			s.leaving = append(s.leaving, cmd)
		}
	})
	s.at(at+s.within(time.Second), "starts", s.start)
}

func (s *schedule) stall(at time.Duration) {
	var cmd *exec.Cmd
	s.at(at, "stalls", func() {
		if cmd = s.pick(); cmd != nil {
			_ = cmd.Process.Signal(syscall.SIGSTOP)
			s.thawLater(cmd)
		}
	})
	s.at(at+300*time.Millisecond+s.within(3*lease), "goes on", func() {
		if cmd != nil {
			_ = cmd.Process.Signal(syscall.SIGCONT) // it may have been killed meanwhile
		}
	})
}

func (s *schedule) bounce(at time.Duration) {
	s.at(at, "redis goes", func() { s.stopRedis() })
	s.at(at+s.within(2*time.Second), "redis comes", func() {
		s.restartRedis(0)
	})
}

func (s *schedule) cutOff(at time.Duration) {
	var k *link
	s.at(at, "cuts", func() {
		if cmd := s.pick(); cmd != nil {
			k = s.links[cmd]
			k.cut()
		}
	})
	s.at(at+300*time.Millisecond+s.within(2*time.Second), "mends", func() {
		if k != nil {
			k.mend()
		}
	})
}

// ask opens a thread and asks for a job.
func (s *schedule) ask() {
	script := scriptNames()[s.rng.IntN(len(scriptNames()))]
	number, asked := s.issue(fmt.Sprintf("Adding is wrong, says a %s person", script), "", request(script))
	s.threads, s.asked = append(s.threads, number), append(s.asked, asked)
}

// say comments in one of the threads.
func (s *schedule) say(text string) (vcs.Comment, bool) {
	if len(s.threads) == 0 {
		return vcs.Comment{}, false
	}
	c, err := s.repo.Comment(s.threads[s.rng.IntN(len(s.threads))], "maintainer", text)
	if err != nil {
		s.t.Fatal(err)
	}
	return c, true
}

func (s *schedule) stop(at time.Duration) {
	s.at(at, "stops", func() { s.say("/agent stop") })
}

func (s *schedule) tell(at time.Duration) {
	s.at(at, "messages", func() {
		if c, ok := s.say("/agent fix and mind the sign"); ok {
			s.asked = append(s.asked, c)
		}
	})
}

func (s *schedule) again(at time.Duration) {
	s.at(at, "redeliveries", func() {
		if all := s.hub.Deliveries(); len(all) > 0 {
			s.hub.Redeliver(all[s.rng.IntN(len(all))], 1+s.rng.IntN(3))
		}
	})
}

// calm ends the faults: somebody is there who can go on.
func (s *schedule) calm() {
	for _, k := range s.links {
		k.mend()
	}
	if len(s.live) == 0 {
		s.start()
	}
	if err := s.hub.Flush(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
	for _, cmd := range s.leaving {
		done := make(chan error, 1)
		go func() { done <- cmd.Wait() }()
		select {
		case err := <-done:
			if err != nil {
				s.t.Errorf("a worker that drains ended with %v", err)
			}
		case <-time.After(time.Minute):
			s.t.Errorf("a worker does not drain")
			_ = cmd.Process.Kill()
			if err := <-done; err == nil {
				s.t.Log("it drained after all")
			}
		}
	}
}
