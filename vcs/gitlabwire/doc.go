// Package gitlabwire is how GitLab spells things: what its driver, the parser
// of its hooks and the reader of its logs all have to know alike.
//
// It is pure and imports nothing but the vocabulary. To add a spelling that two
// of them need: a function here, instead of one in each.
package gitlabwire
