package sandboxtest

import (
	"time"

	"github.com/greenwright/greenwright/sandbox"
)

// few is a sandbox small enough to be filled quickly.
func few() sandbox.Limits {
	return sandbox.Limits{
		MemoryBytes: 256 << 20, Processes: 128, OpenFiles: 256, FileBytes: 64 << 20, OutputBytes: 4 << 20,
		WorkspaceBytes: 96 << 20, WorkspaceFiles: 3000, TempBytes: 96 << 20, TempFiles: 3000,
	}
}

// unheld says why a limit does not hold without a control group.
func unheld(limit string) string {
	if limit == "cpus" {
		return "without a control group commands run at the lowest priority instead"
	}
	return "without a control group, memory that is shared or of files is not seen; it ends with the sandbox"
}

// memory are attempts to take more memory than the limit.
func memory() []Attempt {
	oom := []sandbox.Cause{sandbox.OutOfMemory}
	return []Attempt{
		program("memory", "one process takes 600 MB of 256", `memory 600`).within(few(), oom...),
		program("memory in many processes", "8 processes take 75 MB each", `memories 8 75`).within(few(), oom...),
		program("shared memory", "maps 600 MB that are shared", `shared 600`).within(few(), oom...),
		program("memory files", "memfd_create(2), 12 files of 50 MB", `memfd 12 50`).within(few(), oom...),
		program("System V memory", "shmget(2) of 600 MB", `sysv 600`).within(few(), oom...),
		program("/dev/shm", "writes 10 files of 50 MB there", `bigfiles /dev/shm 10 50`).within(few()),
		program("/dev", "writes 10 files of 50 MB there", `bigfiles /dev 10 50`).within(few()).asRoot(),
	}
}

// disks are attempts to fill disks.
func disks() []Attempt {
	full := []sandbox.Cause{sandbox.DiskLimit}
	return []Attempt{
		program("one big file", "writes a file of 128 MB where 64 are allowed", `file big 128`).within(few()),
		program("many big files", "writes 10 files of 50 MB into the workspace", `bigfiles . 10 50`).within(few(), full...),
		program("big files at home", "writes 10 files of 50 MB into the home directory", `bigfiles "$HOME" 10 50`).within(few(), full...),
		program("removed files", "holds 10 files of 50 MB open that it has removed", `removed . 10 50`).within(few(), full...),
		program("big temporary files", "writes 10 files of 50 MB into /tmp", `bigfiles /tmp 10 50`).within(few(), full...),
		program("file with a hole", "makes a file of 1 TB without content", `sparse hole`).within(few()),
		program("many small files", "makes 40,000 files in the workspace where 3,000 are allowed", `manyfiles . 40000`).within(few(), full...),
		program("many small files at home", "makes 40,000 files in the home directory", `manyfiles "$HOME" 40000`).within(few(), full...),
	}
}

// numbers are attempts with too many of other things.
func numbers() []Attempt {
	many := few()
	tenth := sandbox.Limits{CPUs: 0.1}
	// Without a sandbox the bomb is made of 300 processes that sleep.
	bomb := shell("fork bomb", "forks without end", `if [ "$INIT" = 1 ]; then bash -c 'f() { f | f & }; f; while :; do :; done'; else "$ATTACK" forks 300; fi`).within(few(), sandbox.TimedOut)
	bomb.Timeout = 1500 * time.Millisecond
	return []Attempt{
		program("many processes", "keeps 300 processes where 128 are allowed", `forks 300`).within(many),
		program("many threads", "keeps 300 threads where 128 are allowed", `threads 300`).within(many),
		bomb.apart(),
		program("zombies", "makes 300 processes that nobody waits for", `zombies 300`).within(many),
		program("many descriptors", "opens 2,000 files where 256 are allowed", `open 2000`).within(many).after(`ulimit -n 4096`),
		program("processors", "takes more than a tenth of a processor", `spin 18`).within(tenth).needs("cpus", "bwrap", "runsc"),
		shell("endless output", "writes without end", `yes | head -c 100000000 && echo && echo GOT`).within(many, sandbox.OutputLimit),
		shell("endless line", "writes without end and without a line's end", `head -c 100000000 /dev/zero | tr '\0' x && echo && echo GOT`).within(many, sandbox.OutputLimit),
	}
}

// processes are attempts on pid 1 and on those who end commands.
func processes() []Attempt {
	const box = "gVisor does not protect its pid 1: the whole sandbox ends, and the next command gets another with the same files"
	hit := program("killing everything", "kill(2) of -1", `killall`).apart()
	hit.Hits = true
	return []Attempt{
		program("killing pid 1", "sends every signal to it", `killed $INIT`).open("runsc", box),
		program("stopping pid 1", "SIGSTOP", `stopped $INIT`).open("runsc", box),
		program("limits of pid 1", "prlimit(2) of pid 1", `prlimit $INIT`).open("runsc", "a command can lower the limits of its own sandbox, whose pid 1 is of its account; once that has no descriptors left the next command gets another sandbox"),
		program("killing a process of the host", "sends it every signal", `killed $A_VICTIM`),
		hit,
	}
}

// daemons are attempts to go on when their command has ended and another runs.
func daemons() []Attempt {
	const known = "processes of one account cannot be told apart for certain: one that takes the mark of a command that still runs lives until that one ends"
	out := []Attempt{
		shell("daemon", "goes on in a session of its own", `setsid "$ATTACK" beat "$PWD/alive" >/dev/null 2>&1 & sleep 0.2`),
		shell("orphan", "goes on after two forks", `( ( "$ATTACK" beat "$PWD/alive" >/dev/null 2>&1 & ) & ); sleep 0.2`),
		shell("daemon that ignores signals", "goes on and ignores what can be ignored", `trap '' TERM HUP INT QUIT; setsid "$ATTACK" beat "$PWD/alive" >/dev/null 2>&1 & sleep 0.2`),
		program("hidden daemon", "goes on without any mark of its command", `hide "$PWD/alive"`),
		program("daemon in disguise", "goes on with the mark of another command, which it guesses", `hide "$PWD/alive" SANDBOX_COMMAND=$((SANDBOX_COMMAND - 1))`).open("bwrap", known).open("runsc", known),
	}
	for i := range out {
		out[i].Daemon = true
	}
	return out
}
