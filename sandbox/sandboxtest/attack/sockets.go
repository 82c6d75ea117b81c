package main

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// sockets are attacks by the network.
func sockets() table {
	return table{
		"tcp":        func(a []string) error { return talk("tcp", word(a, 0)) },
		"unix":       func(a []string) error { return talk("unix", word(a, 0)) },
		"udp":        udp,
		"route":      route,
		"interfaces": interfaces,
		"linkflags":  linkFlags,
		"raw":        func([]string) error { return socket(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP) },
		"packet":     func([]string) error { return socket(unix.AF_PACKET, unix.SOCK_RAW, 0) },
		"alg":        func([]string) error { return socket(unix.AF_ALG, unix.SOCK_SEQPACKET, 0) },
		"vsock":      vsock,
		"uppervsock": upperVsock,
		"families":   families,
		"proxy":      proxy,
	}
}

// patience is how long an answer may take.
const patience = 2 * time.Second

// talk connects and expects an answer.
func talk(network, address string) error {
	conn, err := net.DialTimeout(network, address, patience)
	if err != nil {
		return err
	}
	return answer(conn)
}

// answer sends a line and takes whatever comes for success.
func answer(conn net.Conn) error {
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(patience))
	if _, err := conn.Write([]byte("hello\n")); err != nil && !errors.Is(err, syscall.EPIPE) {
		return err
	}
	_, err := io.ReadFull(conn, make([]byte, 1))
	return err
}

func udp(args []string) error {
	conn, err := net.Dial("udp", word(args, 0))
	if err != nil {
		return err
	}
	return answer(conn)
}

// route asks for the way to an address; nothing is sent.
func route(args []string) error {
	conn, err := net.Dial("udp", word(args, 0))
	if err != nil {
		return err
	}
	return conn.Close()
}

func interfaces([]string) error {
	all, err := net.Interfaces()
	if err != nil {
		return err
	}
	for _, i := range all {
		if i.Flags&net.FlagLoopback == 0 {
			return nil
		}
	}
	return fmt.Errorf("loopback only, of %d", len(all))
}

// linkFlags sets the flags of the loopback interface to what they are.
func linkFlags([]string) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	req, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	if err := unix.IoctlIfreq(fd, unix.SIOCGIFFLAGS, req); err != nil {
		return err
	}
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, req)
}

func socket(family, kind, protocol int) error {
	fd, err := unix.Socket(family, kind, protocol)
	if err != nil {
		return err
	}
	return unix.Close(fd)
}

// vsock reaches for the machine below a virtual one (vsock(7)).
func vsock([]string) error {
	return socket(unix.AF_VSOCK, unix.SOCK_STREAM, 0)
}

// upperHalf sets a bit that the kernel cuts off and that a filter over 64 bits
// does not.
const upperHalf = 1 << 32

// upperVsock asks for the same family in other words.
func upperVsock([]string) error {
	fd, _, errno := syscall.Syscall(unix.SYS_SOCKET, upperHalf|unix.AF_VSOCK, unix.SOCK_STREAM, 0)
	if errno != 0 {
		return errno
	}
	return unix.Close(int(fd))
}

// families tries the kinds of sockets that no build needs.
func families([]string) error {
	kinds := []int{unix.SOCK_RAW, unix.SOCK_DGRAM, unix.SOCK_STREAM, unix.SOCK_SEQPACKET}
	last := fmt.Errorf("%w: none of the families", errMissing)
	for _, family := range []int{unix.AF_XDP, unix.AF_KCM, unix.AF_TIPC, unix.AF_RDS, unix.AF_CAN, unix.AF_BLUETOOTH, unix.AF_SMC, unix.AF_QIPCRTR, unix.AF_KEY, unix.AF_PPPOX, unix.AF_LLC, unix.AF_IEEE802154, unix.AF_NFC, unix.AF_PHONET} {
		for _, kind := range kinds {
			switch err := socket(family, kind, 0); {
			case err == nil:
				fmt.Println("family", family)
				return nil
			case errors.Is(err, syscall.EPERM), errors.Is(err, syscall.EACCES):
				last = err
			}
		}
	}
	return last
}

// liveAuth is what this process was given for the proxy.
func liveAuth() string {
	u, err := url.Parse(os.Getenv("HTTP_PROXY"))
	if err != nil || u.User == nil {
		return ""
	}
	password, _ := u.User.Password()
	return base64.StdEncoding.EncodeToString([]byte(u.User.Username() + ":" + password))
}

// proxy asks the proxy at an address for a URL, with what is to stand in its
// header for the credentials.
func proxy(args []string) error {
	conn, err := net.DialTimeout("tcp", word(args, 0), patience)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(patience))
	head := "GET " + word(args, 1) + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
	auth := word(args, 2)
	if auth == "live" {
		auth = liveAuth()
	}
	if auth != "" {
		head += "Proxy-Authorization: Basic " + auth + "\r\n"
	}
	if _, err := io.WriteString(conn, head+"\r\n"); err != nil {
		return err
	}
	reply, err := io.ReadAll(io.LimitReader(conn, 4096))
	if len(reply) == 0 {
		return errors.Join(errors.New("no answer"), err)
	}
	if !bytes.Contains(reply, []byte(" 200 ")) {
		line, _, _ := bytes.Cut(reply, []byte("\r\n"))
		return fmt.Errorf("answered %q", line)
	}
	return nil
}
