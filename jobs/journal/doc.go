// Package journal is the audit record of runs: the record types, the hash
// chain that ties each record to the one before, the fold from records to a
// [Report], and the report's Markdown.
//
// jobs/runner writes through a [Writer]; where the lines go is a [Sink]: a
// Redis stream while the run lives (jobs/store), a file of JSON Lines in a
// [Folder] for `greenwright run`. An [Archive] keeps journals and what else runs
// leave in a bucket; [Audit] says where a journal breaks; [Plan] says what goes
// for the sake of retention. It is the only importer of gocloud.dev.
//
// Invariants: a record is appended before the thing it announces happens; no
// record is ever changed; a claim in a report comes from a record, and what
// has no record is not claimed; somebody else's text goes into Markdown only
// through [Inert], [Contained], [Line], [Quote], [Code] or [Fence].
//
// To add a kind of bucket: its driver in OpenArchive, its URL in ValidateURL,
// and a place in the archive's test.
//
// To add a record type: a [Type], a struct, and its case in the fold.
package journal
