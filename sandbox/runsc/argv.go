package runsc

// arguments are the words after the program's name. state is the box's own
// directory for gVisor's files, bundle holds the configuration.
func arguments(state, bundle, pidFile, id string) []string {
	return []string{
		"--root=" + state,
		"--platform=systrap", // kvm hangs where /dev/kvm is not what it seems, ptrace is slower
		"--network=none",
		"--host-uds=none", "--host-fifo=none",
		"--ignore-cgroups",       // the box has its group from the start
		"--host-settings=ignore", // only warns, and looks at settings that need root to change
		"--overlay2=none",        // the root is read-only
		"run", "-bundle", bundle, "-pid-file", pidFile, id,
	}
}
