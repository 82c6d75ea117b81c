// Package unsafehost is the sandbox driver "none": commands run on the host as
// they are, with only the limits of time, output and disk. It is for machines
// that are thrown away after one run, and it is never chosen by itself: an
// operator has to name it and to confirm it, and every summary says that
// nothing was isolated.
//
// It is a sandbox/box around a guest that is a goroutine of the worker, so that
// output, its filter and the limits are held as with every other driver.
package unsafehost
