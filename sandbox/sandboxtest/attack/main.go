package main

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"syscall"
	"time"
)

// attack tries something; nil means that it was had.
type attack func(args []string) error

// table maps names to attacks.
type table map[string]attack

func main() {
	runtime.LockOSThread() // keyrings, limits and rights are a thread's own
	if len(os.Args) < 2 {
		os.Exit(2)
	}
	for _, t := range []table{processes(), files(), calls(), sockets(), resources(), foreign(), services()} {
		if try, ok := t[os.Args[1]]; ok {
			os.Exit(report(try(os.Args[2:])))
		}
	}
	fmt.Println("no such attack:", os.Args[1])
	os.Exit(2)
}

// errMissing: the kernel has no such thing.
var errMissing = errors.New("not there")

// The exit codes of an attack.
const (
	got     = 0
	refused = 1
	missing = 3
)

func report(err error) int {
	switch {
	case err == nil:
		fmt.Println("GOT", os.Args[1])
		return got
	case errors.Is(err, errMissing), errors.Is(err, syscall.ENOSYS), errors.Is(err, syscall.EAFNOSUPPORT),
		errors.Is(err, syscall.EPROTONOSUPPORT), errors.Is(err, syscall.ESOCKTNOSUPPORT), errors.Is(err, syscall.ENODEV):
		fmt.Println("MISSING", err)
		return missing
	}
	fmt.Println("REFUSED", err)
	return refused
}

// call makes a raw system call.
func call(number uintptr, args ...uintptr) (uintptr, error) {
	var a [6]uintptr
	copy(a[:], args)
	r, _, errno := syscall.RawSyscall6(number, a[0], a[1], a[2], a[3], a[4], a[5])
	if errno != 0 {
		return r, errno
	}
	return r, nil
}

// past takes an error that comes after the permission for success.
func past(err error, after ...syscall.Errno) error {
	for _, e := range after {
		if errors.Is(err, e) {
			return nil
		}
	}
	return err
}

// number is an argument.
func number(args []string, i int) int {
	if i >= len(args) {
		return 0
	}
	n, err := strconv.Atoi(args[i])
	if err != nil {
		return 0
	}
	return n
}

func word(args []string, i int) string {
	if i >= len(args) {
		return ""
	}
	return args[i]
}

// hold waits, so that whoever watches can see.
func hold(d time.Duration) { time.Sleep(d) }
