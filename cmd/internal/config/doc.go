// Package config reads greenwright.yml and the environment into a [Config],
// which is composed of the packages' own settings.
//
// It sits under cmd; wire builds the program from it. Invariants: an unknown
// key is an error that names line and nearest key; [Config.Validate] names
// every fault at once; secrets come from files and the environment only, never
// from the file itself; every setting has a default.
package config
