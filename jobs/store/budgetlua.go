package store

// budgetLua is the common part of the scripts about budgets. A scope's hash
// has what is spent (usd, tok) and reserved (rusd, rtok). A reservation's hash
// has its run, its amount and its scopes, one per line of text; settled, it
// stays for an hour without them. A run's set names its open reservations.
const budgetLua = `
local function key(kind, id) return 'greenwright:' .. kind .. ':' .. id end
local function text(n) return string.format('%.0f', n) end
local function get(k, field) return tonumber(redis.call('HGET', k, field) or 0) end
local function add(scope, field, n)
  local k = key('budget', scope)
  redis.call('HSET', k, field, text(math.max(0, get(k, field) + n)))
end
local function scopes(list) return string.gmatch(list or '', '[^\n]+') end
-- close takes a reservation back and books what was spent instead.
local function close(id, usd, tok)
  local k = key('reservation', id)
  local list = redis.call('HGET', k, 'scopes')
  if not list then return redis.call('EXISTS', k) end
  local rusd, rtok = get(k, 'usd'), get(k, 'tok')
  for scope in scopes(list) do
    local ttl = redis.call('PTTL', key('budget', scope))
    add(scope, 'rusd', -rusd)
    add(scope, 'rtok', -rtok)
    add(scope, 'usd', usd or rusd)
    add(scope, 'tok', tok or rtok)
    if ttl < 0 then redis.call('EXPIRE', key('budget', scope), 86400) end -- it has expired meanwhile
  end
  redis.call('SREM', key('reservations', redis.call('HGET', k, 'run')), id)
  redis.call('HDEL', k, 'scopes')
  redis.call('EXPIRE', k, 3600)
  return 1
end
`

// reserveLua: ARGV id, run, micro-USD, tokens; then per scope its name, its
// two ceilings, and the milliseconds to keep it. It answers the number of the
// scope that is full, 0 for none, with what is spent and reserved there.
//
//nolint:dupword // Lua
const reserveLua = budgetLua + `
local id, run, usd, tok = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local k, mine = key('reservation', id), {}
for scope in scopes(redis.call('HGET', k, 'scopes')) do mine[scope] = true end
local function over(n, ceiling, spent, reserved)
  return ceiling > 0 and n > 0 and spent + reserved + n > ceiling
end
for i = 5, #ARGV, 4 do
  local b = key('budget', ARGV[i])
  local s, st, r, rt = get(b, 'usd'), get(b, 'tok'), get(b, 'rusd'), get(b, 'rtok')
  if mine[ARGV[i]] then r = r - get(k, 'usd') rt = rt - get(k, 'tok') end
  if over(usd, tonumber(ARGV[i + 1]), s, r) or over(tok, tonumber(ARGV[i + 2]), st, rt) then
    return {(i - 1) / 4, s, st, r, rt}
  end
end
close(id, 0, 0)
local names, longest = {}, 0
for i = 5, #ARGV, 4 do
  add(ARGV[i], 'rusd', usd)
  add(ARGV[i], 'rtok', tok)
  local ttl = tonumber(ARGV[i + 3])
  if redis.call('PTTL', key('budget', ARGV[i])) < ttl then redis.call('PEXPIRE', key('budget', ARGV[i]), ARGV[i + 3]) end
  longest = math.max(longest, ttl)
  table.insert(names, ARGV[i])
end
redis.call('DEL', k)
redis.call('HSET', k, 'run', run, 'usd', ARGV[3], 'tok', ARGV[4], 'scopes', table.concat(names, '\n'))
redis.call('PEXPIRE', k, text(longest))
redis.call('SADD', key('reservations', run), id)
redis.call('PEXPIRE', key('reservations', run), text(longest))
return {0, 0, 0, 0, 0}`

// settleLua: ARGV id, micro-USD, tokens. It answers 0 when there is no such
// reservation.
const settleLua = budgetLua + `
return close(ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]))`

// settleRunLua: ARGV run. It answers how many were open.
const settleRunLua = budgetLua + `
local open = redis.call('SMEMBERS', key('reservations', ARGV[1]))
for _, id in ipairs(open) do close(id) end
return #open`

// raiseLua: KEYS sum of a thread, mark of the command; ARGV micro-USD, the
// most that the sum may be, seconds to keep.
const raiseLua = `
local sum = tonumber(redis.call('GET', KEYS[1]) or 0)
if redis.call('SET', KEYS[2], 1, 'NX', 'EX', ARGV[3]) then
  sum = math.max(sum, math.min(sum + tonumber(ARGV[1]), tonumber(ARGV[2])))
end
redis.call('SET', KEYS[1], string.format('%.0f', sum), 'EX', ARGV[3])
return sum`
