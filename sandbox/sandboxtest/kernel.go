package sandboxtest

// kernel are attempts on parts of the kernel that no build or test needs.
func kernel() []Attempt {
	const own = "gVisor answers it in its own kernel, among processes of the same sandbox; no such call reaches the host"
	return []Attempt{
		program("32-bit calls", "int 0x80, which names calls by other numbers", `int80`),
		program("x32 calls", "the x32 interface", `x32`),
		program("bpf", "bpf(2) makes a map", `bpf`).asRoot(),
		program("perf", "perf_event_open(2)", `perf`),
		program("userfaultfd", "userfaultfd(2)", `userfaultfd`),
		program("io_uring", "io_uring_setup(2)", `uring`),
		program("keys", "add_key(2)", `keys`),
		program("request key", "request_key(2), which can start a helper", `requestkey`),
		program("kernel modules", "delete_module(2), init_module(2)", `modules`).asRoot(),
		program("another kernel", "kexec_load(2)", `kexec`).asRoot(),
		program("reboot", "reboot(2)", `reboot`).asRoot(),
		program("accounting", "acct(2)", `acct`).asRoot(),
		program("swap", "swapon(2)", `swap`).asRoot(),
		program("clock", "clock_settime(2)", `clock`).asRoot(),
		program("clock's frequency", "adjtimex(2)", `adjtime`).asRoot(),
		program("ports of the processor", "ioperm(2), iopl(2)", `ports`).asRoot(),
		program("fanotify", "fanotify_init(2)", `fanotify`).asRoot(),
		program("vhangup", "vhangup(2)", `vhangup`).asRoot(),
		program("comparing kernel objects", "kcmp(2)", `kcmp`),
		program("pages of memory nodes", "move_pages(2)", `numa`),
		program("disk quotas", "quotactl(2)", `quota`),
		program("advice on others' memory", "process_madvise(2)", `madvise`),
		program("writing others' memory", "process_vm_writev(2)", `vmwrite`).open("runsc", own),
		program("tracing", "ptrace(2) of its own child", `ptracechild`).open("runsc", own),
		program("setting the host's name", "sethostname(2)", `hostnames`).asRoot(),
		program("crypto sockets", "socket(2) of AF_ALG", `alg`),
		program("packet sockets", "socket(2) of AF_PACKET", `packet`).asRoot(),
		program("rare socket families", "socket(2) of XDP, KCM, TIPC, RDS, CAN, Bluetooth, SMC, QIPCRTR, key and others", `families`).asRoot(),
	}
}
