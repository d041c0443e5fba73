"""The Lua scripts that Redis runs atomically, one for each operation on the state.

Every key starts with the prefix:

- `format`, a hash: the data format, and the dialect
- `version`, the last version given to a document
- `sessions`, the set of their names
- `s:SESSION`, a hash: `life`, different after each reset and expiry; `commits`, a counter; the version of each
  collection
- `s:SESSION:LIFE:COLLECTION`, a hash of ids, each with version, position and JSON
- `done:ID`, the result of a commit, for a minute, so that a client that lost the answer can ask again
- `NAME`, a stream of items, each with session, size and content, and `NAME:info`, a hash: `life`, different after each
  removal; `last`, the number of the last item; `size`, of all items together

A version is a counter followed by nine digits of the commit. So even a Redis that has gone back to an earlier state
never gives the same version twice.
"""

from hashlib import sha1

_DONE_MILLISECONDS = 60_000

_BEGIN = """
local p = ARGV[1]
if redis.call('EXISTS', p .. 'format') == 0 then return redis.error_reply('XS2AEMPTY nothing of ours is there') end
local function now()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end
local function collections(meta)
  local names = {}
  for _, field in ipairs(redis.call('HKEYS', meta)) do
    if string.sub(field, 1, 1) == ':' then names[#names + 1] = string.sub(field, 2) end
  end
  return names
end
local function live_on(meta, life, ttl)
  if ttl > 0 and redis.call('PTTL', meta) < ttl * 0.99 then
    for _, name in ipairs(collections(meta)) do
      redis.call('PEXPIRE', meta .. ':' .. life .. ':' .. name, ttl * 2)
    end
    redis.call('PEXPIRE', meta, ttl)
  end
end
"""

_VERSION = """
-- The version of a document; 0 for a value that the sandbox has not written.
local function version_of(value) return value and string.match(value, '^%d+') or '0' end
"""

_ONCE = f"""
local id, deadline = ARGV[2], tonumber(ARGV[3])
local done = redis.call('GET', p .. 'done:' .. id)
if done then return {{done, now()}} end
if now() > deadline then return {{'late', now()}} end
local function is_done(result)
  redis.call('SET', p .. 'done:' .. id, result, 'PX', {_DONE_MILLISECONDS})
  return {{result, now()}}
end
"""


class LuaScript:
    """A Lua script, which Redis identifies by its digest."""

    __slots__ = ("digest", "text")

    def __init__(self, flags: str, *parts: str) -> None:
        self.text = "".join([f"#!lua{flags}\n", *parts])
        self.digest = sha1(self.text.encode(), usedforsecurity=False).hexdigest()


CLAIM = LuaScript(
    "",
    """
local p = ARGV[1]
if redis.call('EXISTS', p .. 'format') == 0 then
  redis.call('HSET', p .. 'format', 'format', ARGV[2], 'dialect', ARGV[3])
end
return redis.call('HMGET', p .. 'format', 'format', 'dialect')
""",
)
"""Marks the prefix as ours if it has no mark. Returns the format and the dialect of the mark."""

# Reads even while Redis is full. Replicas reject this script as a write, which is right: they may be behind.
FETCH = LuaScript(
    " flags=allow-oom",
    _BEGIN,
    _VERSION,
    """
local ttl, at, sessions = tonumber(ARGV[2]), 2, {}
while at < #ARGV do
  local meta, documents, collections = p .. 's:' .. ARGV[at + 1], tonumber(ARGV[at + 2]), tonumber(ARGV[at + 3])
  local life = redis.call('HGET', meta, 'life')
  local found, lists = {}, {}
  at = at + 3
  for number = 1, documents do
    local collection, id, known = ARGV[at + 1], ARGV[at + 2], ARGV[at + 3]
    local value = life and redis.call('HGET', meta .. ':' .. life .. ':' .. collection, id) or '0'
    if version_of(value) ~= known then
      found[#found + 1] = number - 1
      found[#found + 1] = value
    end
    at = at + 3
  end
  for number = 1, collections do
    local collection, known = ARGV[at + 1], ARGV[at + 2]
    local version = life and redis.call('HGET', meta, ':' .. collection) or '0'
    if version ~= known then
      lists[#lists + 1] = number - 1
      lists[#lists + 1] = version
      lists[#lists + 1] = life and redis.call('HGETALL', meta .. ':' .. life .. ':' .. collection) or {}
    end
    at = at + 2
  end
  if life then live_on(meta, life, ttl) end
  sessions[#sessions + 1] = {life or '', redis.call('HGET', meta, 'commits') or '0', found, lists}
end
return {now(), redis.call('GET', p .. 'version') or '0', sessions}
""",
)

COMMIT = LuaScript(
    "",
    _BEGIN,
    _ONCE,
    _VERSION,
    """
local session, ttl, suffix = ARGV[4], tonumber(ARGV[5]), ARGV[6]
local reads, lists, writes = tonumber(ARGV[7]), tonumber(ARGV[8]), tonumber(ARGV[9])
local meta = p .. 's:' .. session
local life = redis.call('HGET', meta, 'life')
local at = 9
for _ = 1, reads do
  local value = life and redis.call('HGET', meta .. ':' .. life .. ':' .. ARGV[at + 1], ARGV[at + 2])
  if version_of(value) ~= ARGV[at + 3] then return {'changed', now()} end
  at = at + 3
end
for _ = 1, lists do
  if (life and redis.call('HGET', meta, ':' .. ARGV[at + 1]) or '0') ~= ARGV[at + 2] then
    return {'changed', now()}
  end
  at = at + 2
end
if writes == 0 then return {'kept', now()} end
-- First, as it is refused where Redis is full: after it nothing is.
local last = redis.call('INCRBY', p .. 'version', writes)
if not life then
  life = id
  redis.call('HSET', meta, 'life', life)
  redis.call('SADD', p .. 'sessions', session)
end
for number = 1, writes do
  local collection, document = ARGV[at + 1], ARGV[at + 2]
  local count = string.format('%d', last - writes + number)
  local key = meta .. ':' .. life .. ':' .. collection
  local before = redis.call('HGET', key, document)
  local position = before and string.match(before, '^%d+ (%d+)') or count
  redis.call('HSET', key, document, count .. suffix .. ' ' .. position .. ' ' .. ARGV[at + 3])
  redis.call('HSET', meta, ':' .. collection, count .. suffix)
  if ttl > 0 then redis.call('PEXPIRE', key, ttl * 2) end
  at = at + 3
end
local commits = redis.call('HINCRBY', meta, 'commits', 1)
live_on(meta, life, ttl)
return is_done('kept ' .. string.format('%d', last) .. ' ' .. life .. ' ' .. string.format('%d', commits))
""",
)

RESET = LuaScript(
    "",
    _BEGIN,
    _ONCE,
    """
local sessions = ARGV[4] and {ARGV[4]} or redis.call('SMEMBERS', p .. 'sessions')
redis.call('INCRBY', p .. 'version', 1)
for _, session in ipairs(sessions) do
  local meta = p .. 's:' .. session
  local life = redis.call('HGET', meta, 'life')
  if life then
    for _, name in ipairs(collections(meta)) do redis.call('UNLINK', meta .. ':' .. life .. ':' .. name) end
  end
  redis.call('UNLINK', meta)
  redis.call('SREM', p .. 'sessions', session)
end
return is_done('kept')
""",
)

COUNT = LuaScript(
    " flags=allow-oom",
    _BEGIN,
    """
local counted = {}
for number = 2, #ARGV do
  local meta, counts = p .. 's:' .. ARGV[number], {}
  local life = redis.call('HGET', meta, 'life')
  if life then
    for _, name in ipairs(collections(meta)) do
      counts[#counts + 1] = name
      counts[#counts + 1] = redis.call('HLEN', meta .. ':' .. life .. ':' .. name)
    end
  else
    redis.call('SREM', p .. 'sessions', ARGV[number])
  end
  counted[#counted + 1] = counts
end
return counted
""",
)

CHECK = LuaScript("", _BEGIN, "return redis.call('INCRBY', p .. 'version', 1)")
"""Writes something, because only a write shows that Redis is full or read-only."""

_STREAM = """
local key = p .. ARGV[%d]
local info = key .. ':info'
local function is_ours(item)
  local fields = item[2]
  return #fields == 6 and fields[1] == 'session' and fields[3] == 'size' and tonumber(fields[4])
    and fields[5] == 'content'
end
local function size_of(item) return is_ours(item) and tonumber(item[2][4]) or 0 end
"""

APPEND = LuaScript(
    "",
    _BEGIN,
    _ONCE,
    _STREAM % 4,
    """
local most_items, most_bytes = tonumber(ARGV[5]), tonumber(ARGV[6])
redis.call('HSETNX', info, 'life', id)
local size = 0
for at = 7, #ARGV, 3 do
  local number = string.format('%d', redis.call('HINCRBY', info, 'last', 1))
  local item = {number .. '-0', 'session', ARGV[at], 'size', ARGV[at + 1], 'content', ARGV[at + 2]}
  local added = redis.pcall('XADD', key, unpack(item))
  if added.err then
    -- An item of somebody else has a greater number than ours: behind it nothing of ours could be added.
    for _, other in ipairs(redis.call('XRANGE', key, item[1], '+')) do redis.call('XDEL', key, other[1]) end
    redis.call('XSETID', key, string.format('%d', tonumber(number) - 1) .. '-1')
    redis.call('XADD', key, unpack(item))
  end
  size = size + tonumber(ARGV[at + 1])
end
size = redis.call('HINCRBY', info, 'size', size)
local count = redis.call('XLEN', key)
while count > most_items or (size > most_bytes and count > 0) do
  local first = redis.call('XRANGE', key, '-', '+', 'COUNT', 1)[1]
  redis.call('XDEL', key, first[1])
  size = redis.call('HINCRBY', info, 'size', string.format('%d', -size_of(first)))
  count = count - 1
end
return is_done('kept')
""",
)

TAIL = LuaScript(
    " flags=allow-oom",
    _BEGIN,
    _STREAM % 2,
    """
local life = redis.call('HGET', info, 'life') or ''
local number = life == ARGV[3] and tonumber(ARGV[4]) or 0
local first = redis.call('XRANGE', key, '-', '+', 'COUNT', 1)[1]
local from = string.format('%d-0', number + 1)
return {life, first and string.match(first[1], '^%d+') or '0', redis.call('XRANGE', key, from, '+')}
""",
)

REMOVE = LuaScript(
    "",
    _BEGIN,
    _ONCE,
    _STREAM % 4,
    """
if redis.call('EXISTS', info) == 0 then return is_done('kept') end
local size = 0
for _, item in ipairs(redis.call('XRANGE', key, '-', '+')) do
  if not ARGV[5] or (is_ours(item) and item[2][2] == ARGV[5]) then
    redis.call('XDEL', key, item[1])
    size = size + size_of(item)
  end
end
redis.call('HINCRBY', info, 'size', string.format('%d', -size))
redis.call('HSET', info, 'life', id)
return is_done('kept')
""",
)

ALL = (CLAIM, FETCH, COMMIT, RESET, COUNT, CHECK, APPEND, TAIL, REMOVE)
