package vcs

import "time"

// CommentKind tells where a comment stands.
type CommentKind string

// The kinds of comment.
const (
	IssueComment  CommentKind = "issue"  // in the conversation of an issue or pull request
	ReviewRemark  CommentKind = "review" // on a line of a pull request's diff
	ReviewSummary CommentKind = "review_summary"
	ThreadBody    CommentKind = "body" // the opening text of an issue or pull request
)

// CommentRef names a comment within its thread. For ThreadBody, ID is 0.
type CommentRef struct {
	Kind CommentKind `json:"kind"`
	ID   int64       `json:"id"`
}

// Comment is a text in a thread, as its author left it: untrusted.
type Comment struct {
	CommentRef
	Author    Actor     `json:"author"`
	Body      string    `json:"body"`
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
	URL       string    `json:"url"`
	// Internal is set when only members of the project see it (GitLab).
	Internal bool `json:"internal,omitempty"`
}

// Issue is a thread's opening text and its comments, oldest first. A pull
// request is an Issue too: its conversation.
type Issue struct {
	Thread
	Title     string    `json:"title"`
	Body      string    `json:"body"`
	Author    Actor     `json:"author"`
	Open      bool      `json:"open"`
	Locked    bool      `json:"locked"`
	Labels    []string  `json:"labels"`
	CreatedAt time.Time `json:"created_at"`
	URL       string    `json:"url"`
	Comments  []Comment `json:"comments"`
	// Confidential is set when only some members of the project see the thread
	// (GitLab).
	Confidential bool `json:"confidential,omitempty"`
	// Truncated is set when the thread has more comments than were read.
	Truncated bool `json:"truncated,omitempty"`
}

// Reaction is an emoji left on a comment.
type Reaction string

// The reactions Greenwright uses, by GitHub's names.
const (
	ReactionEyes     Reaction = "eyes"
	ReactionConfused Reaction = "confused"
)

// StickyComment is one comment per (thread, marker) that is edited in place.
type StickyComment struct {
	// Marker is a hidden token that identifies the comment; letters, digits,
	// '-', '_' , ':' and '.' only. The driver adds it to the body as an HTML
	// comment and looks only at its own account's comments for it.
	Marker string
	// Body is Markdown without the marker. The driver cuts it at a paragraph
	// to the forge's limit, with a notice, marker and fences intact.
	Body string
	// Internal shows it to members of the project only, where a forge has such
	// comments: what was asked in one is not answered to everybody. It counts
	// when the comment is created.
	Internal bool
}
