// Package layout is what every sandbox looks like from inside, whatever the
// driver: where things stand, which files of the host are shown, which are made
// up, and the environment. It also finds the guest's program and holds the
// directories that belong to one sandbox.
package layout
