// Package cgroup holds each sandbox in a Linux control group of its own, with
// a limit on memory, processes and processor time that the kernel enforces at
// once, and with a way to end all that runs in it.
//
// It is a child of sandbox and is used by the drivers. It works on version 2
// where a group has been delegated to the worker, on version 1 where the
// hierarchies may be written, and otherwise does nothing and says why: what
// the limits then rest on is the driver's business.
//
// Layout: the groups stand side by side in a directory "greenwright" under the
// worker's own group (in version 2, under the group that was delegated). That
// directory is made with the first group and goes with the last.
//
// Version 2 and systemd: a group that has members cannot hand controllers to
// its children, so when the worker is alone in its group, Open moves it into a
// child named "worker" first, as the unit setting Delegate=yes permits. With
// DelegateSubgroup=worker it stands there from the start. A worker that shares
// its group with other processes gets no version 2 groups: other programs are
// never moved.
//
// Invariants: the files of a group stay the worker's, also when the process in
// it has another account; no thread of the worker stays in a group; Kill never
// signals the worker itself; a group that could not be limited in full is not
// handed out.
//
// To support another controller: add a field to settings in v1.go and v2.go.
package cgroup
