package store

import "github.com/redis/go-redis/v9"

// scripts are what must happen in Redis as one step.
type scripts struct {
	claim, release, message, acquire, renew, append, count *redis.Script // in this file
	create, swap                                           *redis.Script // job.go
	takeSlots, keepSlots, freeSlots, slotHolders           *redis.Script // slotlua.go
	reserve, settle, settleRun, raise                      *redis.Script // budgetlua.go
	ask, decide                                            *redis.Script // approval.go
	stop, unheard, breakLease                              *redis.Script // stop.go
}

func newScripts() scripts {
	return scripts{
		claim:   redis.NewScript(claimLua),
		release: redis.NewScript(releaseLua),
		message: redis.NewScript(messageLua),
		acquire: redis.NewScript(acquireLua),
		renew:   redis.NewScript(renewLua),
		append:  redis.NewScript(appendLua),
		count:   redis.NewScript(countLua),

		create: redis.NewScript(createLua),
		swap:   redis.NewScript(swapLua),

		takeSlots:   redis.NewScript(takeSlotsLua),
		keepSlots:   redis.NewScript(keepSlotsLua),
		freeSlots:   redis.NewScript(freeSlotsLua),
		slotHolders: redis.NewScript(slotHoldersLua),

		reserve:   redis.NewScript(reserveLua),
		settle:    redis.NewScript(settleLua),
		settleRun: redis.NewScript(settleRunLua),
		raise:     redis.NewScript(raiseLua),

		ask:    redis.NewScript(askLua),
		decide: redis.NewScript(decideLua),

		stop:       redis.NewScript(stopLua),
		unheard:    redis.NewScript(unheardLua),
		breakLease: redis.NewScript(breakLua),
	}
}

// claimLua gives the thread to ARGV[1] when it is free, is his already, or
// belongs to ARGV[2], whom the caller knows to be gone, and marks the claim as
// fresh for ARGV[3] milliseconds. It returns the holder.
const claimLua = `
local holder = redis.call('GET', KEYS[1])
if (not holder) or holder == ARGV[1] or (ARGV[2] ~= '' and holder == ARGV[2]) then
  redis.call('SET', KEYS[1], ARGV[1])
  redis.call('SET', KEYS[2], 1, 'PX', ARGV[3])
  return ARGV[1]
end
return holder`

// releaseLua deletes the key when it holds ARGV[1].
const releaseLua = `
if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0`

// messageLua puts a message into the inbox of the thread's holder: KEYS
// thread, inbox, mark of the message, set of those who got mail; ARGV holder,
// message, seconds to keep. It returns 0 when the thread has another holder.
const messageLua = `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
if redis.call('SET', KEYS[3], 1, 'NX', 'EX', ARGV[3]) then
  redis.call('RPUSH', KEYS[2], ARGV[2])
  redis.call('EXPIRE', KEYS[2], ARGV[3])
  redis.call('SADD', KEYS[4], ARGV[1])
  redis.call('EXPIRE', KEYS[4], ARGV[3])
end
return 1`

// acquireLua takes a free lease and gives its token, 0 when it is held: KEYS
// lease, tokens, mark of the last taking; ARGV owner, milliseconds, seconds to
// keep the tokens, mark. The mark tells a taking that the client sends again,
// because its answer was lost, from another.
const acquireLua = `
if redis.call('EXISTS', KEYS[1]) == 1 then
  if redis.call('GET', KEYS[3]) == ARGV[4] then return tonumber(redis.call('GET', KEYS[2])) end
  return 0
end
redis.call('SET', KEYS[3], ARGV[4], 'PX', ARGV[2])
local token = redis.call('INCR', KEYS[2])
redis.call('EXPIRE', KEYS[2], ARGV[3])
redis.call('SET', KEYS[1], ARGV[1] .. ':' .. token, 'PX', ARGV[2])
return token`

// renewLua prolongs the lease while it is ours.
const renewLua = `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])`

// appendLua adds a line to a journal if the lease is the writer's and the
// line follows the last one: KEYS lease, stream; ARGV owner, sequence, line,
// seconds to keep. The client sends a command again when its answer was lost:
// a line that is the last one already is there. Where lines are missing in
// front of it, it answers the number of the last one, negative.
//
//nolint:dupword // Lua
const appendLua = `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
local last = redis.call('XREVRANGE', KEYS[2], '+', '-', 'COUNT', 1)[1]
if last and last[1] == ARGV[2] .. '-0' and last[2][2] == ARGV[3] then return 1 end
if last then
  local have = tonumber(string.match(last[1], '^%d+'))
  if tonumber(ARGV[2]) > have + 1 then return -have end
end
redis.call('XADD', KEYS[2], ARGV[2] .. '-0', 'r', ARGV[3])
redis.call('EXPIRE', KEYS[2], ARGV[4])
return 1`

// countLua drops what has left the window, adds the member unless it is
// there, and gives its place: KEYS set; ARGV now and begin of the window in
// milliseconds, member, milliseconds to keep. Who comes in the same millisecond
// is a thousandth later: equal scores are ordered by name.
const countLua = `
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', '(' .. ARGV[2])
local last = redis.call('ZREVRANGE', KEYS[1], 0, 0, 'WITHSCORES')[2]
local score = tonumber(ARGV[1])
if last and tonumber(last) >= score then score = tonumber(last) + 0.001 end
redis.call('ZADD', KEYS[1], 'NX', string.format('%.3f', score), ARGV[3])
redis.call('PEXPIRE', KEYS[1], ARGV[4])
return redis.call('ZRANK', KEYS[1], ARGV[3]) + 1`
