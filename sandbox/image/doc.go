// Package image turns OCI images into root directories for sandboxes. An image
// is unpacked once for its digest into a cache and from then on only read.
//
// It is a child of sandbox, used by those who choose a run's root file system,
// and the only importer of go-containerregistry. An image is hostile input:
// whoever writes a repository's configuration may choose it.
//
// Invariants: nothing is used that does not match its digest; nothing is
// written outside the image's own root, and no link in it is ever followed on
// the host's terms (see [unpacker.resolve]); what stands in a root has no
// set-id bit and no device, belongs to the worker, can be read by everybody
// and written by nobody else; bytes, entries, depth and length of names are
// limited before they are spent; a root appears under its name only once it
// is whole, and goes only while nobody uses it.
//
// Layout of the cache: roots/DIGEST/{root,image.json,used}, tmp/ for what is
// being made or removed, locks/DIGEST (flock: shared while used, exclusive
// while made or removed), aliases/DIGEST for the digest of an index.
//
// To support another source: return a [source] from a function beside
// registrySource and layoutSource.
package image
