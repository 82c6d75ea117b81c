package bench_test

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// server is a redis-server of the benchmark's own: nothing is written to disk.
type server struct {
	cmd    *exec.Cmd
	socket string
}

func startRedis(dir string) (*server, error) {
	bin, err := exec.LookPath("redis-server")
	if err != nil {
		return nil, err
	}
	s := &server{socket: filepath.Join(dir, "r.sock")}
	s.cmd = exec.Command(bin, "--port", "0", "--unixsocket", s.socket, "--dir", dir, "--save", "", "--appendonly", "no", "--logfile", filepath.Join(dir, "redis.log"))
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for range 500 {
		<-tick.C
		if answer, err := ask(s.socket, "PING"); err == nil && answer == "PONG" {
			return s, nil
		}
	}
	return nil, errors.Join(errors.New("redis-server does not answer"), s.stop())
}

func (s *server) stop() error {
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	return s.cmd.Wait()
}

// ask sends one command in the inline form of the protocol.
func ask(socket, command string) (string, error) {
	conn, err := net.DialTimeout("unix", socket, time.Second)
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(5 * time.Second))
	if _, err := conn.Write([]byte(command + "\r\n")); err != nil {
		return "", err
	}
	r := bufio.NewReader(conn)
	line, err := r.ReadString('\n')
	if err != nil {
		return "", err
	}
	line = strings.TrimSpace(line)
	switch {
	case line == "":
	case line[0] == '+' || line[0] == ':':
		return line[1:], nil
	case line[0] == '$':
		n, err := strconv.Atoi(line[1:])
		if err != nil || n < 0 {
			return "", fmt.Errorf("redis answers %q", line)
		}
		bulk := make([]byte, n)
		_, err = readFull(r, bulk)
		return string(bulk), err
	}
	return "", fmt.Errorf("redis answers %q", line)
}

func number(socket, command string) (int64, error) {
	text, err := ask(socket, command)
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(text, 10, 64)
}

// redisPID is the process behind a socket.
func redisPID(socket string) (int, error) {
	info, err := ask(socket, "INFO server")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(info) {
		if id, ok := strings.CutPrefix(line, "process_id:"); ok {
			return strconv.Atoi(strings.TrimSpace(id))
		}
	}
	return 0, errors.New("redis does not say its process")
}

// queued is how many events wait, asynq's list.
func queued(socket string) (int64, error) { return number(socket, "LLEN asynq:{events}:pending") }

// syncTime is the median time of a write and sync of one event's size in dir:
// what `appendfsync always` pays per round on this disk.
func syncTime(dir string) (time.Duration, error) {
	f, err := os.CreateTemp(dir, "sync")
	if err != nil {
		return 0, err
	}
	defer func() { _ = f.Close() }()
	const tries, size = 101, 2048
	took := make([]time.Duration, 0, tries)
	for range tries {
		start := time.Now()
		if _, err := f.Write(make([]byte, size)); err != nil {
			return 0, err
		}
		if err := syscall.Fdatasync(int(f.Fd())); err != nil {
			return 0, err
		}
		took = append(took, time.Since(start))
	}
	return median(took), nil
}
