package tool

import (
	"fmt"
)

// Code is the machine-readable end of a call.
type Code string

// The closed set of codes.
const (
	CodeOK                   Code = "OK"
	CodeInvalidArgs          Code = "INVALID_ARGS"
	CodeTruncatedArgs        Code = "TRUNCATED_ARGS"
	CodeUnknownTool          Code = "UNKNOWN_TOOL"
	CodeFileNotFound         Code = "FILE_NOT_FOUND"
	CodeIsDirectory          Code = "IS_DIRECTORY"
	CodeFileExists           Code = "FILE_EXISTS"
	CodeFileTooLarge         Code = "FILE_TOO_LARGE"
	CodeBinaryFile           Code = "BINARY_FILE"
	CodeNotUTF8              Code = "NOT_UTF8"
	CodePathOutsideWorkspace Code = "PATH_OUTSIDE_WORKSPACE"
	CodeSymlinkRefused       Code = "SYMLINK_REFUSED"
	CodeProtectedPath        Code = "PROTECTED_PATH"
	CodeNotRead              Code = "NOT_READ"
	CodeStaleFile            Code = "STALE_FILE"
	CodeNoMatch              Code = "NO_MATCH"
	CodeAmbiguous            Code = "AMBIGUOUS"
	CodeNoChange             Code = "NO_CHANGE"
	CodePlaceholder          Code = "PLACEHOLDER"
	CodeOversizedMatch       Code = "OVERSIZED_MATCH"
	CodeParse                Code = "PARSE"
	CodeConflict             Code = "CONFLICT"
	CodeSyntaxBroken         Code = "SYNTAX_BROKEN"
	CodeTimeout              Code = "TIMEOUT"
	CodeKilled               Code = "KILLED"
	CodeOutputLimit          Code = "OUTPUT_LIMIT"
	CodeSpawnFailed          Code = "SPAWN_FAILED"
	CodePolicyDenied         Code = "POLICY_DENIED"
	CodeApprovalNeeded       Code = "APPROVAL_NEEDED"
	CodeBudgetExceeded       Code = "BUDGET_EXCEEDED"
	CodeTierForbidden        Code = "TIER_FORBIDDEN"
	CodeLoopBlocked          Code = "LOOP_BLOCKED"
	CodeNotRun               Code = "NOT_RUN"   // an earlier call of the reply failed
	CodeUncertain            Code = "UNCERTAIN" // the worker was lost while the call ran
	CodeInternal             Code = "INTERNAL"
)

// Result is how a call ended. Text is what the model sees; when the call is
// not OK the registry puts the code in front of it.
type Result struct {
	OK   bool   `json:"ok"`
	Code Code   `json:"code"`
	Text string `json:"text"`
	// Message is the failure in one sentence, for logs and reports.
	Message string `json:"message,omitempty"`
	// Data is a tool's structured answer (its package names the type), for
	// the agent and the journal; the model does not see it.
	Data        any          `json:"data,omitempty"`
	Truncated   *Truncation  `json:"truncated,omitempty"`
	Suggestions []string     `json:"suggestions,omitempty"`
	Retryable   bool         `json:"retryable,omitempty"`
	DurationMS  int64        `json:"duration_ms,omitempty"`
	Effects     []FileEffect `json:"effects,omitempty"`
	// Progress says that something outside of the files moved on since the
	// same was last asked: a process printed more.
	Progress bool `json:"progress,omitempty"`
}

// Truncation says what of an output is shown.
type Truncation struct {
	BytesTotal int64  `json:"bytes_total"`
	BytesShown int64  `json:"bytes_shown"`
	LinesTotal int64  `json:"lines_total"`
	Artifact   string `json:"artifact,omitempty"` // where the whole is kept, if it is
}

// FileEffect is one file that a call changed. Hashes are hex SHA-256 of the
// bytes; an empty one means that the file did not exist.
type FileEffect struct {
	Path   string `json:"path"`
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
}

// OKText is a successful Result with the given text.
func OKText(text string) Result { return Result{OK: true, Code: CodeOK, Text: text} }

// Failf is a Result that is not OK; its message becomes its text.
func Failf(code Code, format string, args ...any) Result {
	return Result{Code: code, Message: fmt.Sprintf(format, args...)}
}

// WithDetail adds text for the model below the failure's message.
func (r Result) WithDetail(text string) Result {
	r.Text = text
	return r
}

// Suggest adds what the model could try instead.
func (r Result) Suggest(format string, args ...any) Result {
	r.Suggestions = append(r.Suggestions, fmt.Sprintf(format, args...))
	return r
}
