package journal

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/greenwright/greenwright/jobs"
)

// Schema is the version of the record format. Those before it are read as well.
const Schema = 2

// Type says what a record's data is.
type Type string

// The types of record, each with its data.
const (
	TypeStarted  Type = "run_started"     // Started
	TypeResumed  Type = "run_resumed"     // Resumed
	TypePrepared Type = "prepared"        // Prepared
	TypeState    Type = "state"           // StateChanged
	TypeCheck    Type = "check"           // CheckRan
	TypeSetup    Type = "setup"           // SetupRan
	TypeSetupDue Type = "setup_intended"  // SetupIntended
	TypeBox      Type = "sandbox"         // Box
	TypeAgent    Type = "agent"           // agent.Entry
	TypeModel    Type = "model"           // ModelChosen
	TypeOutcome  Type = "agent_ended"     // AgentEnded
	TypeChange   Type = "change"          // Changed
	TypeCommit   Type = "commit"          // Committed
	TypeVerdict  Type = "verdict"         // Verdict
	TypeTarget   Type = "target"          // Aimed
	TypeApproval Type = "approval"        // jobs.Approval
	TypeIntended Type = "action_intended" // ActionIntended
	TypeDone     Type = "action_finished" // ActionFinished
	TypeNote     Type = "note"            // Note
	TypeEnded    Type = "run_ended"       // Ended
)

// Record is one entry of a journal.
type Record struct {
	Schema int             `json:"schema"`
	Run    jobs.RunID      `json:"run"`
	Seq    uint64          `json:"seq"` // from 1
	Time   time.Time       `json:"time"`
	Type   Type            `json:"type"`
	Data   json.RawMessage `json:"data"`
	Prev   string          `json:"prev"` // hash of the record before, empty for the first
	Hash   string          `json:"hash"` // hex SHA-256 of this record with Hash empty
}

// hash is taken over the record's own JSON encoding with Hash empty. Encoding
// a decoded record gives the same bytes: the fields' order is the struct's,
// and Data is kept as it was written, compact.
func (r Record) hash() (string, error) {
	r.Hash = ""
	b, err := json.Marshal(r)
	if err != nil {
		return "", fmt.Errorf("encoding a record: %w", err)
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:]), nil
}

var (
	// ErrBroken is wrapped by the error of a journal whose chain does not hold.
	ErrBroken = errors.New("journal is broken")
	// ErrNewer is wrapped by the error of a journal that a later version writes.
	ErrNewer = errors.New("journal is of a later version of greenwright")
)

// Parse reads the lines of a journal and checks its chain: sequence, run,
// predecessor and hash of each record, byte for byte. Its error wraps ErrBroken
// and names the first record that does not fit; the records before it are
// returned. That records are missing at the end cannot be told from the lines
// alone: compare the last hash with the head that the thread was told, and see
// whether the last record is a TypeEnded.
func Parse(lines [][]byte) ([]Record, error) {
	var out []Record
	prev := ""
	for i, line := range lines {
		var r Record
		if err := json.Unmarshal(line, &r); err != nil {
			return out, fmt.Errorf("%w: record %d cannot be read: %w", ErrBroken, i+1, err)
		}
		// What the decoder passes over (spaces, members that are unknown,
		// doubled or of another case) is a change too.
		if again, err := json.Marshal(r); err != nil || !bytes.Equal(again, line) {
			return out, fmt.Errorf("%w: record %d is not written as records are", ErrBroken, i+1)
		}
		if err := r.follows(uint64(i), prev, out); err != nil {
			return out, err
		}
		prev = r.Hash
		out = append(out, r)
	}
	return out, nil
}

func (r Record) follows(before uint64, prev string, earlier []Record) error {
	want, err := r.hash()
	switch {
	case err != nil:
		return err
	case r.Schema < 1:
		return fmt.Errorf("%w: record %d has schema %d", ErrBroken, before+1, r.Schema)
	case r.Seq != before+1:
		return fmt.Errorf("%w: record %d has the number %d", ErrBroken, before+1, r.Seq)
	case r.Prev != prev:
		return fmt.Errorf("%w: record %d does not follow the one before it", ErrBroken, r.Seq)
	case r.Hash != want:
		return fmt.Errorf("%w: record %d was changed", ErrBroken, r.Seq)
	case len(earlier) > 0 && r.Run != earlier[0].Run:
		return fmt.Errorf("%w: record %d is of another run", ErrBroken, r.Seq)
	case r.Schema > Schema:
		return fmt.Errorf("%w: record %d has schema %d, this one knows %d", ErrNewer, before+1, r.Schema, Schema)
	}
	return nil
}
