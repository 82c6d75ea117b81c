package main

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"time"
)

// services are no attacks: they are what the suite runs inside to see that
// what must work does.
func services() table {
	return table{"serve": serve, "carry": carry, "listen": listen, "deep": deep}
}

// serve answers every connection with a word.
func serve(args []string) error {
	l, err := net.Listen("tcp", word(args, 0))
	if err != nil {
		return err
	}
	fmt.Println("serving")
	for {
		conn, err := l.Accept()
		if err != nil {
			return err
		}
		_, _ = io.WriteString(conn, "welcome\n")
		_ = conn.Close()
	}
}

// carry sends some mebibytes to an echo and sees that they come back.
func carry(args []string) error {
	conn, err := net.DialTimeout("tcp", word(args, 0), patience)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
	sent := bytes.Repeat([]byte("0123456789abcdef"), number(args, 1)*mebi/16)
	go func() {
		_, _ = conn.Write(sent)
		_ = conn.(*net.TCPConn).CloseWrite()
	}()
	back, err := io.ReadAll(conn)
	if err == nil && !bytes.Equal(back, sent) {
		return fmt.Errorf("%d bytes of %d came back", len(back), len(sent))
	}
	return err
}

// listen leaves a unix socket behind.
func listen(args []string) error {
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: word(args, 0), Net: "unix"})
	if err != nil {
		return err
	}
	l.SetUnlinkOnClose(false)
	return l.Close()
}

// deep makes directories in each other and a file in the last.
func deep(args []string) error {
	for range number(args, 0) {
		if err := os.Mkdir("dddd", 0o755); err != nil {
			return err
		}
		if err := os.Chdir("dddd"); err != nil {
			return err
		}
	}
	return os.WriteFile("leaf", []byte("leaf\n"), 0o644)
}
