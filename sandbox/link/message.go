package link

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// GuestArgument makes a program that can be the guest become it.
const GuestArgument = "sandbox-init"

// ProxyAddress is where commands inside find the way out.
const ProxyAddress = "127.0.0.1:3128"

// maxMessage bounds a JSON message: the kernel takes about 2 MB of arguments
// and environment, which JSON may double.
const maxMessage = 8 << 20

// ErrTooLong is wrapped by the error of a length beyond what is read.
var ErrTooLong = errors.New("message too long")

// Protocol names what both ends speak; it changes with every message that the
// other end would misunderstand.
const Protocol = "1"

// Setup is the first message of a sandbox's life.
type Setup struct {
	Protocol    string `json:"protocol"`
	FileBytes   int64  `json:"file_bytes"`   // RLIMIT_FSIZE
	OpenFiles   int    `json:"open_files"`   // RLIMIT_NOFILE
	Processes   int    `json:"processes"`    // RLIMIT_NPROC; 0 sets none
	MemoryBytes int64  `json:"memory_bytes"` // of all commands together, looked at again and again
	// RemovedBytes is what files may take that were removed and are still open.
	RemovedBytes int64 `json:"removed_bytes"`
	Nice         int   `json:"nice"`
	// Proxy makes the guest listen on ProxyAddress.
	Proxy bool `json:"proxy"`
	// Writable are the only directories that may be written to (Landlock, where
	// the kernel has it).
	Writable []string `json:"writable,omitempty"`
}

// Ready is the answer to Setup.
type Ready struct {
	Error string `json:"error,omitempty"`
	// Landlock is the kernel's version of it, 0 when it was not used.
	Landlock int `json:"landlock"`
}

// Open is the first message of every other stream that the host opens.
type Open struct {
	// Command is run, and the stream carries its frames.
	Command *Request `json:"command,omitempty"`
	// Input, if not 0, makes the stream the standard input of the command that
	// names the same number; it is opened before that command's stream.
	Input int64 `json:"input,omitempty"`
}

// Request is one command.
type Request struct {
	Argv  []string `json:"argv"`
	Env   []string `json:"env"`
	Dir   string   `json:"dir"` // absolute, inside
	Input int64    `json:"input,omitempty"`
	Split bool     `json:"split,omitempty"` // standard error in frames of its own
}

// Exit is the last frame of a command.
type Exit struct {
	// StartError says why it could not be started; Code is then 126 or 127.
	StartError string        `json:"start_error,omitempty"`
	Code       int           `json:"code"`
	Signal     int           `json:"signal,omitempty"`
	OOM        bool          `json:"oom,omitempty"`
	Full       bool          `json:"full,omitempty"` // over RemovedBytes
	CPU        time.Duration `json:"cpu_ns"`
	PeakMemory int64         `json:"peak_memory"` // bytes
	Written    int64         `json:"written"`     // bytes
	// Stuck: something that the command started could not be ended.
	Stuck bool `json:"stuck,omitempty"`
}

// WriteMessage writes v as JSON with its length before it.
func WriteMessage(w io.Writer, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encoding a message: %w", err)
	}
	if len(body) > maxMessage {
		return fmt.Errorf("%w: %d bytes", ErrTooLong, len(body))
	}
	buf := binary.BigEndian.AppendUint32(make([]byte, 0, 4+len(body)), uint32(len(body))) //nolint:gosec // bounded above
	_, err = w.Write(append(buf, body...))
	return err
}

// ReadMessage reads what WriteMessage wrote.
func ReadMessage(r io.Reader, v any) error {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return err
	}
	n := binary.BigEndian.Uint32(head[:])
	if n > maxMessage {
		return fmt.Errorf("%w: %d bytes", ErrTooLong, n)
	}
	body, err := io.ReadAll(io.LimitReader(r, int64(n))) // grows with what comes, not with what is announced
	if err != nil {
		return err
	}
	if len(body) < int(n) {
		return io.ErrUnexpectedEOF
	}
	if err := json.Unmarshal(body, v); err != nil {
		return fmt.Errorf("decoding a message: %w", err)
	}
	return nil
}
