package sandboxtest

// secrets are attempts on what the worker and other runs keep.
func secrets() []Attempt {
	return []Attempt{
		shell("own environment", "looks for the worker's token among its own variables", `env | grep -q ^GREENWRIGHT_TEST_TOKEN= && echo GOT`),
		program("environment of others", "looks for the token in /proc/*/environ", `environs GREENWRIGHT_TEST_TOKEN`),
		program("environment of pid 1", "reads /proc/1/environ", `environ $INIT`),
		program("memory of pid 1", "reads /proc/1/mem", `mem $INIT`),
		program("maps of pid 1", "reads /proc/1/maps", `maps $INIT`),
		program("descriptors of pid 1", "reads the links in /proc/1/fd", `fds $INIT`),
		program("root of pid 1", "looks through /proc/1/root, cwd and exe", `root $INIT`),
		program("memory of pid 1 by call", "process_vm_readv(2) of pid 1", `vmread $INIT`),
		program("descriptor of pid 1 by call", "pidfd_getfd(2) of everything pid 1 holds, the connection to the host among it", `steal $INIT`),
		program("tracing pid 1", "ptrace(2) attaches to pid 1", `ptrace $INIT`),
		program("inherited connection", "looks for a socket among its descriptors and sends a forged frame", `sockets`),
		shell("inherited files", "looks for a file of the host among its descriptors", `for n in /proc/self/fd/*; do readlink $n; done | grep -q host-secret && echo GOT`),
		program("arguments of the driver", "looks for a directory of the host in all command lines", `cmdlines "$A_STAGE_1" "$A_STAGE_2"`),
		shell("host paths in mountinfo", "looks for a directory of the host in /proc/self/mountinfo", `grep -q "$A_STAGE_1$A_STAGE_2" /proc/self/mountinfo && echo GOT`).
			asRoot().after(`mkdir -p m && mount --bind . m && trap 'umount m' EXIT`).
			open("bwrap", "the kernel names the source of a bind mount; the path tells nothing but the data directory and the run's id"),
		shell("a file of the host", "reads a file that anybody on the host may read", `grep -q outside "$A_SECRET" && echo GOT`),
		shell("key in a home directory", "reads .ssh of a home directory on the host", `cat "$A_HOME"/.ssh/id_ed25519 && echo GOT`),
		shell("home of root", "lists /root", `ls -A /root | grep . && echo GOT`).asRoot(),
		shell("password file", "reads /etc/shadow", `cat /etc/shadow && echo GOT`).asRoot(),
		shell("keys for TLS", "lists /etc/ssl/private", `ls -d /etc/ssl/private/. && ls /etc/ssl/private && echo GOT`).asRoot(),
		program("SSH agent", "connects to the socket of an SSH agent", `unix "$A_AGENT"`),
		program("Docker socket", "connects to the socket of a container service", `unix "$A_SOCKET"`),
		shell("another run's workspace", "reads the workspace of another sandbox by its path", `grep -rq other-run "$A_OTHER"/workspace && echo GOT`).asRoot(),
		shell("another run's home", "reads the home directory of another sandbox by its path", `grep -rq other-run "$A_OTHER"/scratch/home && echo GOT`).asRoot(),
		shell("another run's temporary files", "reads them by their path", `grep -rq other-run "$A_OTHER"/scratch/tmp && echo GOT`).asRoot(),
		shell("temporary files of the host", "looks for the host's files in /tmp", `test -e "$A_STAGE_1$A_STAGE_2" && echo GOT`),
	}
}

// machineSecrets are attempts on what the host says of itself.
func machineSecrets() []Attempt {
	return []Attempt{
		program("kernel messages", "syslog(2)", `syslog`).asRoot().
			open("runsc", "gVisor answers with made-up lines; there is nothing of the host in them"),
		program("kernel messages by device", "opens /dev/kmsg", `openread /dev/kmsg`).asRoot(),
		program("kernel addresses", "reads /proc/kallsyms", `symbols`).asRoot(),
		program("kernel memory", "opens /proc/kcore, /dev/mem, /dev/port", `openread /proc/kcore /dev/mem /dev/port`).asRoot(),
		program("name of the host", "asks for the host's name", `hostname "$A_HOSTNAME"`),
		shell("resolver of the host", "reads /etc/resolv.conf", `grep . /etc/resolv.conf && echo GOT`).after(`test -s /etc/resolv.conf || echo MISSING`),
		shell("state of the host", "lists /var/lib and /var/log", `ls -A /var/lib /var/log | grep -v : | grep . && echo GOT`),
		shell("disks of the host", "lists /sys/block", `ls -A /sys/block | grep . && echo GOT`),
		shell("names of disks", "reads /proc/partitions", `grep '[0-9]' /proc/partitions && echo GOT`).
			open("bwrap", "the kernel shows /proc/partitions, loadavg and the like to everybody; there is no name of a person or place in it"),
		shell("start of the kernel", "reads /proc/cmdline", `grep . /proc/cmdline && echo GOT`).
			open("bwrap", "as above: the kernel shows it to everybody").open("runsc", "it is gVisor's own, the same everywhere"),
		program("processes of the host", "looks for a process of the host by its pid", `environ $A_VICTIM`),
	}
}
