package store

// slotLua is the common part of the scripts about slots. A slot's holders are
// a sorted set by the time, in milliseconds of Redis, when they expire; its
// line is one by the jobs' creation. A waiter's own hash says that it is alive,
// its group, and the slots in whose lines it stands, one per line of text.
//
//nolint:dupword // Lua
const slotLua = `
local t = redis.call('TIME')
local now = tonumber(t[1]) * 1000 + math.floor(tonumber(t[2]) / 1000)
local function key(kind, id) return 'greenwright:' .. kind .. ':' .. id end
local function held(name)
  redis.call('ZREMRANGEBYSCORE', key('slot', name), '-inf', now)
  return redis.call('ZCARD', key('slot', name))
end
local function hold(name, job, ttl)
  redis.call('ZADD', key('slot', name), string.format('%.0f', now + ttl), job)
  local last = redis.call('ZREVRANGE', key('slot', name), 0, 0, 'WITHSCORES')[2]
  redis.call('PEXPIREAT', key('slot', name), string.format('%.0f', tonumber(last) + 1000))
end
local function leave(job)
  local lines = redis.call('HGET', key('waiter', job), 'lines')
  for name in string.gmatch(lines or '', '[^\n]+') do redis.call('ZREM', key('line', name), job) end
  redis.call('DEL', key('waiter', job))
end
local function before(a, b)
  if a.load ~= b.load then return a.load < b.load end
  if a.since ~= b.since then return a.since < b.since end
  return a.job < b.job
end
local function waiter(job, since, group, loads)
  if not loads[group] then loads[group] = held(group) end
  return {job = job, since = tonumber(since), load = loads[group]}
end
-- line lists who waits for a slot and is alive, and forgets the others.
local function line(name)
  local out, loads = {}, {}
  local all = redis.call('ZRANGE', key('line', name), 0, -1, 'WITHSCORES')
  for i = 1, #all, 2 do
    local group = redis.call('HGET', key('waiter', all[i]), 'group')
    if group then table.insert(out, waiter(all[i], all[i + 1], group, loads))
    else redis.call('ZREM', key('line', name), all[i]) end
  end
  return out, loads
end
`

// takeSlotsLua: ARGV job, its creation and how long to hold and to wait in
// milliseconds, then names and limits. It answers the number of the slot that
// is full, 0 for none, and the place in its line.
//
//nolint:dupword // Lua
const takeSlotsLua = slotLua + `
local job, since, group = ARGV[1], ARGV[2], ARGV[5]
local full, place = 0, 0
for i = 5, #ARGV, 2 do
  local name, limit = ARGV[i], tonumber(ARGV[i + 1])
  local free = limit - held(name)
  if limit > 0 and not redis.call('ZSCORE', key('slot', name), job) then
    place = 0
    if free > 0 then
      local others, loads = line(name)
      local me = waiter(job, since, group, loads)
      for _, w in ipairs(others) do
        if w.job ~= job and before(w, me) then place = place + 1 end
      end
    end
    if place >= free then full = i break end
  end
end
leave(job)
if full == 0 then
  for i = 5, #ARGV, 2 do hold(ARGV[i], job, tonumber(ARGV[3])) end
  return {0, 0}
end
local lines = {ARGV[full]}
if full ~= 5 then table.insert(lines, group) end
redis.call('HSET', key('waiter', job), 'group', group, 'lines', table.concat(lines, '\n'))
redis.call('PEXPIRE', key('waiter', job), ARGV[4])
for _, name in ipairs(lines) do
  redis.call('ZADD', key('line', name), since, job)
  redis.call('PEXPIRE', key('line', name), ARGV[4])
end
return {(full - 3) / 2, math.max(place, redis.call('ZRANK', key('line', ARGV[full]), job))}`

// keepSlotsLua: ARGV job, milliseconds to hold, then names and limits.
const keepSlotsLua = slotLua + `
for i = 3, #ARGV, 2 do hold(ARGV[i], ARGV[1], tonumber(ARGV[2])) end
return 1`

// freeSlotsLua: ARGV job, then names and limits. It answers who can run now,
// as far as one slot tells. Those in the line of a slot without a ceiling wait
// for another one.
//
//nolint:dupword // Lua
const freeSlotsLua = slotLua + `
leave(ARGV[1])
local next, seen = {}, {}
for i = 2, #ARGV, 2 do redis.call('ZREM', key('slot', ARGV[i]), ARGV[1]) end
for i = 2, #ARGV, 2 do
  local name, limit = ARGV[i], tonumber(ARGV[i + 1])
  local waiting = limit > 0 and line(name) or {}
  table.sort(waiting, before)
  for n = 1, math.min(#waiting, limit - held(name)) do
    if not seen[waiting[n].job] then
      seen[waiting[n].job] = true
      table.insert(next, waiting[n].job)
    end
  end
end
return next`

// slotHoldersLua: ARGV name.
const slotHoldersLua = slotLua + `
held(ARGV[1])
return redis.call('ZRANGE', key('slot', ARGV[1]), 0, -1)`
