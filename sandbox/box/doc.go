// Package box is a started sandbox as the host sees it: commands, limits of
// time, output and disk, and the end of it all, the same for every driver
// whose pid 1 is sandbox/guest. A driver gives it a [Launcher] and nothing else
// happens in the driver while commands run.
//
// Invariants: the host decides why a command ended; what the guest says is
// believed for what ran inside, and bounded. A sandbox that does not do what it
// is told within a grace is ended as a whole from outside. Output is kept in
// bounded memory. After Close nothing is left that the launcher started.
package box
