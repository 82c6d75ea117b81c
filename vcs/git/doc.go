// Package git keeps trusted bare mirrors of repositories, materialises
// workspaces from them and builds commits out of what a job left there.
//
// It sits under [vcs] as the only importer of go-git; jobs/runner prepares
// workspaces with it and jobs/publish commits and pushes with it.
//
// Invariants:
//   - A [Mirror] is written by this package alone and holds no credential. A
//     git subprocess may fetch into it, with system and user configuration
//     off; nothing else ever runs git for the worker.
//   - A [Workspace] is hostile as soon as a command has run in it. Nothing in
//     it is executed, its .git is never read, every path is opened through
//     os.Root, must be a regular file (or a link, taken as data), and is
//     compared with the base tree in the mirror. Attributes come from the
//     base commit.
//   - [Snapshots] keep a workspace's files as they are on disk, in a store of
//     their own; a restore writes and removes through no link, touches only
//     what differs, and destroys nothing that it does not hold.
//   - What comes back from a bucket ([Snapshots.Import]) is
//     as hostile as a workspace: it is checked whole, within limits, before
//     anything is written.
//   - A push never forces: the remote must be where the caller expects it,
//     the commit must descend from there, and the remote is read back.
//
// To add a transport: implement peer beside httpPeer and filePeer and choose
// it in Store.peer.
package git
