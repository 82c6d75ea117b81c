package sandboxtest

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/greenwright/greenwright/sandbox"
	"github.com/greenwright/greenwright/sandbox/egress"
	"github.com/greenwright/greenwright/sandbox/egress/egresstest"
	"github.com/greenwright/greenwright/sandbox/link"
)

// tokenVar is the secret in the worker's environment that attempts look for.
const tokenVar = "GREENWRIGHT_TEST_TOKEN"

// Where the programs of attempts stand inside.
const insideMount = "/opt/attack"

// apartUID is an account that no driver gives to runs.
const apartUID = 60299

// stage is the host that attempts reach for: its secrets, servers, processes,
// and another run.
type stage struct {
	dir      string
	mount    string // shown inside, read-only
	uid, gid int    // the run's account
	inside   []string
	outside  []string
	site     *egresstest.Server
	given    []*os.File // what a control inherits
	t        *testing.T // whose end is the stage's

	mu      sync.Mutex
	victims map[int]*victim // under mu; by account
}

// newStage builds it; driver starts the other run.
func newStage(t *testing.T, driver sandbox.Driver) *stage {
	t.Helper()
	t.Setenv(tokenVar, "token-of-the-worker")
	s := &stage{t: t, dir: Passable(t), victims: map[int]*victim{}}
	s.mount = filepath.Join(s.dir, "mount")
	s.files(t)
	s.programs(t)
	s.other(t, driver)
	s.servers(t)
	s.vars(t)
	s.inherited(t)
	return s
}

func write(t *testing.T, file, text string, mode os.FileMode) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), mode), os.Chmod(file, mode)); err != nil {
		t.Fatal(err)
	}
}

// files are secrets that anybody on the host may read, so that permissions are
// not what guards them.
func (s *stage) files(t *testing.T) {
	write(t, filepath.Join(s.dir, "host-secret"), "outside\n", 0o644)
	write(t, filepath.Join(s.dir, "home", ".ssh", "id_ed25519"), "a key\n", 0o644)
	for range 64 { // under numbers that no driver's own files take
		fd, err := syscall.Open(filepath.Join(s.dir, "host-secret"), syscall.O_RDONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = syscall.Close(fd) })
	}
}

// programs are the attack, a copy that is set-uid root where that can be, and
// one that stands for the guest.
func (s *stage) programs(t *testing.T) {
	b, err := os.ReadFile(AttackProgram(t))
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(s.mount, "attack"), string(b), 0o755)
	write(t, filepath.Join(s.mount, "setuid"), string(b), 0o755|os.ModeSetuid)
	write(t, filepath.Join(s.dir, "program"), "", 0o755)
}

// other starts another run with something in each of its directories.
func (s *stage) other(t *testing.T, driver sandbox.Driver) {
	t.Helper()
	dir := filepath.Join(s.dir, "other")
	if err := errors.Join(os.Mkdir(dir, 0o711), os.Mkdir(filepath.Join(dir, "workspace"), 0o700)); err != nil {
		t.Fatal(err)
	}
	box, err := driver.Start(t.Context(), sandbox.Spec{RunID: "other", Workspace: filepath.Join(dir, "workspace"), Scratch: filepath.Join(dir, "scratch")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = box.Close(context.Background()) })
	if _, err := box.Exec(t.Context(), sandbox.Cmd{Script: "echo other-run | tee file ~/file /tmp/file"}); err != nil {
		t.Fatal(err)
	}
}

// inherited is what a control is given as descriptors 3 and 4.
func (s *stage) inherited(t *testing.T) {
	t.Helper()
	secret, err := os.Open(filepath.Join(s.dir, "host-secret"))
	if err != nil {
		t.Fatal(err)
	}
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	s.given = []*os.File{secret, os.NewFile(uintptr(fds[0]), "one end"), os.NewFile(uintptr(fds[1]), "other end")}
	t.Cleanup(func() {
		for _, f := range s.given {
			_ = f.Close()
		}
	})
}

// servers answer on everything that a host has.
func (s *stage) servers(t *testing.T) {
	t.Helper()
	tcp6 := "127.0.0.1:0"
	if l, err := net.Listen("tcp", "[::1]:0"); err == nil {
		tcp6 = "[::1]:0"
		_ = l.Close()
	}
	abstract := fmt.Sprintf("@greenwright-test-%d", os.Getpid())
	set := func(name, value string) { s.both(name + "=" + value) }
	set("A_TCP6", greet(t, "tcp", tcp6))
	set("A_ABSTRACT", greet(t, "unix", abstract))
	set("A_SOCKET", greet(t, "unix", filepath.Join(s.dir, "docker.sock")))
	set("A_AGENT", greet(t, "unix", filepath.Join(s.dir, "agent.sock")))
	greet(t, "unix", filepath.Join(s.mount, "socket"))
	udp, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = udp.Close() })
	go echo(udp)
	set("A_UDP", udp.LocalAddr().String())
	s.site, err = egresstest.Start("files.test", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "allowed\n") }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.site.Close)
	set("A_TCP", fmt.Sprintf("127.0.0.1:%d", s.site.Port))
	set("A_URL", s.site.URL+"/")
	s.inside = append(s.inside, "A_PROXY="+link.ProxyAddress)
	s.outside = append(s.outside, fmt.Sprintf("A_PROXY=127.0.0.1:%d", s.site.Port))
}

// greet answers every connection with a word.
func greet(t *testing.T, network, address string) string {
	t.Helper()
	l, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	if filepath.IsAbs(address) {
		if err := os.Chmod(address, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(conn, "welcome\n")
			_ = conn.Close()
		}
	}()
	return l.Addr().String()
}

func echo(conn net.PacketConn) {
	buf := make([]byte, 1024)
	for {
		n, from, err := conn.ReadFrom(buf)
		if err != nil {
			return
		}
		_, _ = conn.WriteTo(buf[:n], from)
	}
}

func (s *stage) both(vars ...string) {
	s.inside = append(s.inside, vars...)
	s.outside = append(s.outside, vars...)
}

// vars tell scripts where things are.
func (s *stage) vars(t *testing.T) {
	t.Helper()
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	half := len(s.dir) - 5
	s.both(
		"A_SECRET="+filepath.Join(s.dir, "host-secret"), "A_HOME="+filepath.Join(s.dir, "home"), "A_OTHER="+filepath.Join(s.dir, "other"),
		"A_STAGE_1="+s.dir[:half], "A_STAGE_2="+s.dir[half:], "A_HOSTNAME="+host, "A_RESOLVER="+resolver(),
		"A_DEAD="+base64.StdEncoding.EncodeToString([]byte("greenwright:dead")),
	)
	s.inside = append(s.inside, "INIT=1", "ATTACK="+insideMount+"/attack", "A_MOUNT="+insideMount, "A_HERE=/usr", "A_PROGRAM=/run/greenwright/init")
	s.outside = append(s.outside, "ATTACK="+filepath.Join(s.mount, "attack"), "A_MOUNT="+s.mount, "A_HERE="+s.dir, "A_PROGRAM="+filepath.Join(s.dir, "program"))
}

// resolver is the host's name server, or an address like it.
func resolver() string {
	b, err := os.ReadFile("/etc/resolv.conf")
	if err == nil {
		for line := range strings.Lines(string(b)) {
			if f := strings.Fields(line); len(f) > 1 && f[0] == "nameserver" && net.ParseIP(f[1]) != nil {
				return net.JoinHostPort(f[1], "53")
			}
		}
	}
	return "192.88.99.1:53" // a reserved address (RFC 7526)
}

// gateway lets out to the stage's own server, and to a name that leads inside.
func (s *stage) gateway(t *testing.T) sandbox.Gateway {
	t.Helper()
	var rules []egress.Rule
	for _, text := range []string{s.site.Rule(), "inner.test:80"} {
		r, err := egress.ParseRule(text)
		if err != nil {
			t.Fatal(err)
		}
		rules = append(rules, r)
	}
	return egress.New(egress.Policy{Allow: rules, AllowPrivate: []string{s.site.Host}}, egress.WithResolver(egresstest.Loopback(s.site.Host, "inner.test", "other.test")))
}

// dead is the credential of somebody whose time is over.
func dead(g sandbox.Gateway) string {
	env, done := g.Open(link.ProxyAddress)
	done()
	for _, kv := range env {
		if value, ok := strings.CutPrefix(kv, "HTTP_PROXY="); ok {
			if u, err := url.Parse(value); err == nil && u.User != nil {
				return base64.StdEncoding.EncodeToString([]byte(u.User.String()))
			}
		}
	}
	return ""
}

// victim is a process of the host that stands for the worker.
type victim struct {
	cmd  *exec.Cmd
	done chan struct{}
}

// alive looks for a while whether it still is.
func (v *victim) alive(during time.Duration) bool {
	select {
	case <-v.done:
		return false
	case <-time.After(max(during, time.Millisecond)):
		return true
	}
}

// victim gives one of an account that is alive.
func (s *stage) victim(t *testing.T, uid, gid int) *victim {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if v := s.victims[uid]; v != nil && v.alive(0) {
		return v
	}
	v := &victim{cmd: exec.Command(filepath.Join(s.mount, "attack"), "wait", s.dir), done: make(chan struct{})}
	v.cmd.Dir = s.dir
	v.cmd.SysProcAttr = as(uid, gid)
	v.cmd.ExtraFiles = s.given[:2]
	if err := v.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = v.cmd.Wait()
		close(v.done)
	}()
	s.victims[uid] = v
	s.t.Cleanup(func() {
		_ = v.cmd.Process.Kill()
		<-v.done
	})
	return v
}

// drop ends an account's victim, so that the next one asked for is another.
func (s *stage) drop(uid int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if v := s.victims[uid]; v != nil {
		_ = v.cmd.Process.Kill()
		<-v.done
		delete(s.victims, uid)
	}
}

// as makes a child run under an account, which only root can choose.
func as(uid, gid int) *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if os.Geteuid() == 0 && uid != 0 {
		attr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	}
	return attr
}
