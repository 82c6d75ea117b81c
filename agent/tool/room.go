package tool

import "context"

type roomKey struct{}

// WithRoom tells a call how many bytes of text its result may have at most,
// where that is less than what the tool would give: in a small window, or when
// many calls share one reply.
func WithRoom(ctx context.Context, bytes int) context.Context {
	return context.WithValue(ctx, roomKey{}, bytes)
}

// Room is the smaller of most and what the caller has room for. A tool that
// remembers what was shown asks it before it notes that something was.
func Room(ctx context.Context, most int) int {
	if n, ok := ctx.Value(roomKey{}).(int); ok && n < most {
		return n
	}
	return most
}
