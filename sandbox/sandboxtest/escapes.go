package sandboxtest

// escapes are attempts to reach the host by files.
func escapes() []Attempt {
	return []Attempt{
		shell("writing the system", "makes a file in /usr, /etc, /bin, /run and /", `for d in /usr /etc /bin /lib /sbin /run /; do f=$d/greenwright-attempt-$$; (: > $f) 2>/dev/null && rm -f $f && echo GOT $d; done`).asRoot(),
		shell("symbolic link out", "reads a file of the host through a link in the workspace", `ln -sf "$A_SECRET" out && cat out && echo GOT`),
		shell("path upwards", "reads a file of the host by ../", `cat "../../../../../../../..$A_SECRET" && echo GOT`),
		shell("hard link out", "links a file of the host into the workspace", `ln "$A_SECRET" hard && cat hard && rm -f hard && echo GOT`).asRoot(),
		shell("through the root of pid 1", "reads a file of the host by /proc/1/root", `cat "/proc/$INIT/root$A_SECRET" && echo GOT`),
		shell("through another's directory", "reads a file of the host by /proc/*/cwd", `for d in /proc/[0-9]*/cwd; do grep -q outside "$d/host-secret" 2>/dev/null && echo GOT && break; done`).asRoot(),
		shell("writing a mount", "writes into a directory that is shown read-only", `touch "$A_MOUNT"/x && rm -f "$A_MOUNT"/x && echo GOT`).asRoot(),
		shell("the guest's program", "changes the program that is pid 1", `chmod 0777 "$A_PROGRAM" && echo GOT`).asRoot(),
		program("file handle", "open_by_handle_at(2), past all mounts", `byhandle "$A_HERE"`).asRoot(),
		program("core pattern", "has the kernel run a program for a crash: writes /proc/sys/kernel/core_pattern", `rewrite /proc/sys/kernel/core_pattern`).asRoot(),
		program("module helper", "writes /proc/sys/kernel/modprobe and poweroff_cmd", `rewrite /proc/sys/kernel/poweroff_cmd`).asRoot(),
		program("other settings of the kernel", "writes /proc/sys/vm/overcommit_memory", `rewrite /proc/sys/vm/overcommit_memory`).asRoot(),
		program("interpreters", "opens binfmt_misc/register for writing", `openwrite /proc/sys/fs/binfmt_misc/register`).asRoot(),
		program("event helper", "opens /sys/kernel/uevent_helper for writing", `openwrite /sys/kernel/uevent_helper`).asRoot(),
		program("magic keys", "opens /proc/sysrq-trigger for writing", `openwrite /proc/sysrq-trigger`).asRoot(),
		program("release agent", "opens a control group's release_agent for writing", `cgroupwrite release_agent`).asRoot(),
		program("leaving the control group", "opens another group's cgroup.procs for writing", `cgroupwrite cgroup.procs`).asRoot(),
		program("raw disk", "opens the host's disks", `openread /dev/vda /dev/sda /dev/nvme0n1 /dev/xvda /dev/loop0`).asRoot(),
		program("virtual machines", "opens /dev/kvm", `openread /dev/kvm`).asRoot(),
		program("file systems of its own", "opens /dev/fuse", `openread /dev/fuse`).asRoot().open("runsc", "it is a device of gVisor's own kernel, and mounting is refused"),
		program("network devices", "opens /dev/net/tun", `openread /dev/net/tun`).asRoot().open("runsc", "it is a device of gVisor's own kernel, and leads to no network"),
		program("making a device", "mknod(2)", `mknod`).asRoot(),
	}
}

// mountEscapes are attempts with mounts and namespaces.
func mountEscapes() []Attempt {
	const own = "in gVisor's own kernel: it gives rights over nothing of the host, and none of gVisor's mounts and networks become another's"
	return []Attempt{
		program("mount", "mount(2) of a tmpfs", `mount`).asRoot(),
		program("bind mount", "mount(2) of / again", `bind`).asRoot(),
		program("unmount", "umount2(2) of /proc, to see what it covers", `umount "$A_HERE"`).asRoot(),
		program("writable again", "remounts / without read-only", `remount "$A_HERE"`).asRoot(),
		program("new mount calls", "fsopen(2)", `fsopen`).asRoot(),
		program("copy of a mount", "open_tree(2) of /", `opentree`).asRoot(),
		program("changing the root", "pivot_root(2)", `pivot`).asRoot(),
		program("chroot", "chroot(2)", `chroot`).asRoot(),
		program("entering a namespace", "setns(2) into those of pid 1", `setns $INIT`).asRoot(),
		program("new namespaces", "unshare(2) of the mount namespace", `unshare 131072`).asRoot(),
		program("new user namespace", "unshare(2)", `newuser`).open("runsc", own),
		program("new user namespace by clone", "clone(2)", `cloneuser`).open("runsc", own),
		program("new user namespace by clone3", "clone3(2), whose flags a filter cannot see", `clone3user`).open("runsc", own),
		shell("a sandbox inside", "starts bubblewrap", `bwrap --unshare-user --ro-bind / / true && echo GOT`).open("runsc", own),
	}
}

// rights are attempts to get more of them.
func rights() []Attempt {
	return []Attempt{
		shell("set-uid program", "runs a copy of the program that is set-uid root", `"$A_MOUNT"/setuid effectiveuid`).apart(),
		shell("su and sudo", "looks for a program that gives rights, and that would", `su -c true || sudo -n true && echo GOT`).asRoot(),
		program("becoming root", "setresuid(2)", `setuid`).asRoot(),
		program("capabilities", "capset(2)", `capset`).asRoot(),
		program("capabilities of a file", "sets security.capability", `filecaps`).asRoot(),
		shell("new privileges", "is without no_new_privs", `grep -q 'NoNewPrivs:.*0' /proc/self/status && echo GOT`),
		shell("bounding set", "has capabilities in its bounding set", `grep -q 'CapBnd:.*[1-9a-f]' /proc/self/status && echo GOT`),
		program("typing into the terminal", "ioctl TIOCSTI", `tiocsti`),
		program("typing into the terminal in other words", "the same with a bit in the upper half of the argument, which the kernel cuts off", `uppertiocsti`),
		program("raising limits", "setrlimit(2) above what it was given", `rlimits`).asRoot(),
	}
}
