package store

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"
)

// SetMaintenance says to every process that no new job is to begin, and what
// people who ask are told; the empty text ends it.
func (s *Store) SetMaintenance(ctx context.Context, text string) error {
	k := key("maintenance", "text")
	if text == "" {
		return unavailable("ending maintenance", s.redis.Del(ctx, k).Err())
	}
	return unavailable("beginning maintenance", s.redis.Set(ctx, k, text, 0).Err())
}

// Maintenance reports whether it is on, and its text.
func (s *Store) Maintenance(ctx context.Context) (text string, on bool, err error) {
	text, err = s.redis.Get(ctx, key("maintenance", "text")).Result()
	if errors.Is(err, redis.Nil) {
		return "", false, nil
	}
	return text, err == nil, unavailable("reading maintenance", err)
}
