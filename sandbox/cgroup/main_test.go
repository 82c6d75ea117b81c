package cgroup_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// The test binary is also the program that runs in the groups.
const helperVar = "CGROUP_TEST_HELPER"

func TestMain(m *testing.M) {
	if role := os.Getenv(helperVar); role != "" {
		os.Exit(helper(role))
	}
	goleak.VerifyTestMain(m)
}

func helper(role string) int {
	switch role {
	case "membership":
		content, err := os.ReadFile("/proc/self/cgroup")
		if err != nil {
			return 1
		}
		fmt.Printf("uid %d\n%s", os.Getuid(), content)
	case "hog":
		var kept [][]byte
		for range 512 {
			kept = append(kept, bytes.Repeat([]byte{1}, 1<<20))
		}
		fmt.Println("kept", len(kept))
	case "bomb":
		return bomb()
	case "stubborn":
		signal.Ignore(syscall.SIGTERM, syscall.SIGINT)
		fmt.Println("ready")
		<-time.After(time.Hour)
	case "fountain":
		fountain()
	case "spin":
		end := time.Now().Add(time.Second)
		for time.Now().Before(end) {
		}
		var u syscall.Rusage
		_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
		fmt.Println(time.Duration(u.Utime.Nano() + u.Stime.Nano()).Milliseconds())
	}
	return 0
}

// bomb starts as many sleepers as it may and tells how many there were.
func bomb() int {
	max, err := strconv.Atoi(os.Getenv("BOMB"))
	if err != nil {
		return 1
	}
	started := 0
	for range max {
		cmd := exec.Command("/bin/sleep", "60")
		if cmd.Start() != nil {
			break
		}
		started++
	}
	fmt.Println(started)
	return 0
}

// fountain makes processes that make processes, without end.
func fountain() {
	fmt.Println("ready")
	for {
		cmd := exec.Command("/proc/self/exe")
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if cmd.Start() != nil {
			time.Sleep(time.Millisecond)
		}
	}
}

func self(role string, env ...string) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(env, helperVar+"="+role, "GOMAXPROCS=1")
	return cmd
}
