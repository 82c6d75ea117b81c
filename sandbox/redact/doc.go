// Package redact replaces secrets in what leaves a sandbox: the output of
// commands on its way to logs, journals, models and threads.
//
// It is the last line: no secret is put into a sandbox to begin with. Two
// kinds are replaced. Known secrets are found in any of these forms, also
// mixed: as they are; with escapes of URLs (%41), JSON and C (\u0041, \/,
// \x41); as hex, in one case; as base64 of either alphabet, alone or inside
// the base64 of something longer; and with invisible characters, control
// characters, colour sequences, or line breaks and indentation anywhere
// inside. Tokens of well-known services are found by their shape, private keys
// by their frame, and passwords by their place in URLs and Authorization
// headers. Other disguises (compression, ciphers, reversal, base64 of base64)
// are not seen through.
//
// Invariants: what is written does not depend on how the input was split;
// memory is bounded whatever the input; the time for n bytes is linear in n.
// Held back is only what may still become a secret, up to Close.
//
// To add a token's shape: add it to shapes with the source of its format, and
// a line to the tests of both what is and what is not replaced.
package redact
