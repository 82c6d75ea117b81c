package queue

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/greenwright/greenwright/jobs"
)

// Depth counts the tasks of the two queues.
type Depth struct {
	EventsWaiting, EventsArchived int
	RunsWaiting, RunsActive       int
}

// Depth reads the sizes of the queues.
func (c *Client) Depth(ctx context.Context) (Depth, error) {
	pipe := c.redis.Pipeline()
	events, runs := sizes(ctx, pipe, eventsQueue), sizes(ctx, pipe, runsQueue)
	if _, err := pipe.Exec(ctx); err != nil {
		return Depth{}, fmt.Errorf("%w: reading the queues: %w", jobs.ErrUnavailable, err)
	}
	return Depth{
		EventsWaiting: events.waiting() + int(events.active.Val()), EventsArchived: int(events.archived.Val()),
		RunsWaiting: runs.waiting(), RunsActive: int(runs.active.Val()),
	}, nil
}

type sizeCmds struct{ pending, active, retry, scheduled, archived *redis.IntCmd }

func sizes(ctx context.Context, pipe redis.Pipeliner, queue string) sizeCmds {
	return sizeCmds{
		pending: pipe.LLen(ctx, listKey(queue, "pending")), active: pipe.LLen(ctx, listKey(queue, "active")),
		retry: pipe.ZCard(ctx, listKey(queue, "retry")), scheduled: pipe.ZCard(ctx, listKey(queue, "scheduled")),
		archived: pipe.ZCard(ctx, listKey(queue, "archived")),
	}
}

func (s sizeCmds) waiting() int {
	return int(s.pending.Val() + s.retry.Val() + s.scheduled.Val())
}

// oldestLua gives the age in milliseconds of the task that has waited longest,
// -1 for none, and forgets those that are not there: KEYS times; ARGV prefix
// of the tasks' keys, now in milliseconds. What a worker has does not wait;
// those are few.
//
//nolint:dupword // Lua
const oldestLua = `
local from = 0
while true do
  local entry = redis.call('ZRANGE', KEYS[1], from, from, 'WITHSCORES')
  if #entry == 0 then return -1 end
  local state = redis.call('HGET', ARGV[1] .. entry[1], 'state')
  if not state or state == 'archived' or state == 'completed' then redis.call('ZREM', KEYS[1], entry[1])
  elseif state == 'active' then from = from + 1
  else return math.max(0, tonumber(ARGV[2]) - tonumber(entry[2])) end
end`

// Oldest is how long the oldest task that waits in each queue has been there,
// also while it was tried in vain; a queue without one is left out. It is what
// a person who waits would say: a flood shows here first.
func (c *Client) Oldest(ctx context.Context) (map[string]time.Duration, error) {
	out := map[string]time.Duration{}
	for _, queue := range []string{eventsQueue, runsQueue} {
		ms, err := c.scripts.oldest.Run(ctx, c.redis, []string{sinceKey(queue)}, taskKey(queue, ""), time.Now().UnixMilli()).Int64()
		if err != nil {
			return nil, fmt.Errorf("%w: reading the queues: %w", jobs.ErrUnavailable, err)
		}
		if ms >= 0 {
			out[queue] = time.Duration(ms) * time.Millisecond
		}
	}
	return out, nil
}
