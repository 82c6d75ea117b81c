package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/greenwright/greenwright/jobs"
	"github.com/greenwright/greenwright/vcs"
)

// ErrNotFound says that there is no such record.
var ErrNotFound = errors.New("no such record")

// How long things are kept.
const (
	// jobRetention outlives the dedupe window of the queue.
	jobRetention = 30 * 24 * time.Hour
	// journalRetention is for live reading; the archive keeps for good.
	journalRetention = 7 * 24 * time.Hour
	// archivedRetention is for those who read a journal while it goes to the
	// archive.
	archivedRetention = time.Hour
	inboxRetention    = 24 * time.Hour
	// fenceRetention outlives whoever still believes in an old token: no run
	// lasts for days.
	fenceRetention = 7 * 24 * time.Hour
)

// Store is safe for concurrent use.
type Store struct {
	redis   redis.UniversalClient
	scripts scripts
	now     func() time.Time
}

// Open connects lazily to the Redis at url: redis://, rediss:// or unix://.
func Open(url vcs.Secret, now func() time.Time) (*Store, error) {
	opts, err := redis.ParseURL(url.Reveal())
	if err != nil { // whose text holds the URL, and so the password
		return nil, fmt.Errorf("%w: redis URL: want redis://, rediss:// or unix://, and what is special in the password percent-encoded", vcs.ErrInvalid)
	}
	const dialTimeout, ioTimeout = 2 * time.Second, 5 * time.Second
	opts.DialTimeout, opts.ReadTimeout, opts.WriteTimeout = dialTimeout, ioTimeout, ioTimeout
	return &Store{redis: redis.NewClient(opts), scripts: newScripts(), now: now}, nil
}

// LogTo sends what go-redis itself has to say, which goes to standard error
// otherwise, to a log. It holds for the whole process.
func LogTo(log *slog.Logger) { redis.SetLogger(redisLog{log}) }

type redisLog struct{ log *slog.Logger }

func (l redisLog) Printf(_ context.Context, format string, v ...any) {
	l.log.Debug("redis client", "text", fmt.Sprintf(format, v...))
}

// Close releases the connections.
func (s *Store) Close() error { return s.redis.Close() }

func key(kind, id string) string { return "greenwright:" + kind + ":" + id }

// unavailable wraps an error of Redis.
func unavailable(doing string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %s: %w", jobs.ErrUnavailable, doing, err)
}

// Count enters a member among those of the last window, and gives its place
// there, from 1. Counting a member again changes nothing.
func (s *Store) Count(ctx context.Context, name, member string, window time.Duration) (int, error) {
	now := s.now().UnixMilli()
	n, err := s.scripts.count.Run(ctx, s.redis, []string{key("count", name)}, now, now-window.Milliseconds(), member, 2*window.Milliseconds()).Int()
	return n, unavailable("counting "+name, err)
}

// First reports whether a member is the first of its name within the time, or
// was before.
func (s *Store) First(ctx context.Context, name, member string, ttl time.Duration) (bool, error) {
	if fresh, err := s.redis.SetNX(ctx, key("first", name), member, ttl).Result(); err != nil || fresh {
		return fresh, unavailable("claiming "+name, err)
	}
	old, err := s.redis.Get(ctx, key("first", name)).Result()
	if errors.Is(err, redis.Nil) {
		return true, nil // it has lapsed just now
	}
	return old == member, unavailable("looking for the first "+name, err)
}

// Info is what `doctor` wants to know of the server.
type Info struct {
	Version     string
	AppendOnly  bool
	Policy      string // maxmemory-policy
	ClockOffset time.Duration
}

// Info asks the server for its version and settings. Settings that it does
// not tell stay empty.
func (s *Store) Info(ctx context.Context) (Info, error) {
	var info Info
	text, err := s.redis.Info(ctx, "server").Result()
	if err != nil {
		return info, unavailable("asking for the version", err)
	}
	info.Version = field(text, "redis_version:")
	if text, err = s.redis.Info(ctx, "persistence").Result(); err == nil {
		info.AppendOnly = field(text, "aof_enabled:") == "1"
	}
	if conf, err := s.redis.ConfigGet(ctx, "maxmemory-policy").Result(); err == nil {
		info.Policy = conf["maxmemory-policy"]
	}
	before := s.now()
	if t, err := s.redis.Time(ctx).Result(); err == nil {
		info.ClockOffset = t.Sub(before)
	}
	return info, nil
}
